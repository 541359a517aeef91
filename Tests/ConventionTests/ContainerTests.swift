// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tiers

/// The container's files, as far as they can be checked without a container engine.
@Suite("The container", .tags(.network))
struct ContainerTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOf: SourceTree.root.appending(path: path), encoding: .utf8)
    }

    /// An instruction of the Dockerfile, its lines joined.
    private struct Instruction {
        let stage: String
        let name: String
        let words: [String]
    }

    private static func instructions() throws -> [Instruction] {
        let lines = try text("packaging/docker/Dockerfile").replacing("\\\n", with: " ")
            .split(separator: "\n").filter { !$0.hasPrefix("#") }
        var stage = ""
        return lines.map { line in
            let words = line.split(separator: " ").map(String.init)
            if words[0] == "FROM" { stage = words.count == 4 ? words[3] : "last" }
            return Instruction(stage: stage, name: words[0], words: Array(words.dropFirst()))
        }
    }

    @Test("is built in stages; the last has no compiler and no privilege")
    func stages() throws {
        let all = try Self.instructions()
        let from = all.filter { $0.name == "FROM" }
        #expect(from.map(\.stage) == ["build", "runtime", "lab", "last"])
        #expect(from.last?.words == ["runtime"])
        let runtime = all.filter { $0.stage == "runtime" }
        #expect(from[1].words[0] == "debian:bookworm-slim")
        #expect(runtime.first { $0.name == "USER" }?.words == ["65532:65532"])
        let installed = runtime.flatMap(\.words).filter { $0.contains(".deb") }
        #expect(installed == ["/deb/udp-fanout_*.deb"])
        #expect(!runtime.contains { $0.name == "COPY" || $0.words.contains("build-essential") })
        let swift = try Self.text("scripts/setup.sh").firstMatch(of: /swift_wanted=([\d.]+)/)?
            .output.1
        #expect(from[0].words[0] == "swift:\(swift ?? "?")-bookworm")
    }

    @Test("copies only files that exist and that the context includes")
    func copies() throws {
        let ignored = try Self.text(".dockerignore").split(separator: "\n")
            .filter { !$0.hasPrefix("#") }.map(String.init)
        let sources = try Self.instructions().filter { $0.name == "COPY" }
            .flatMap { $0.words.dropLast() }
        #expect(sources.count >= 3)
        for source in sources {
            #expect(
                FileManager.default.fileExists(
                    atPath: SourceTree.root.appending(path: source).path), "\(source)")
            #expect(!ignored.contains { source == $0 || source.hasPrefix($0 + "/") }, "\(source)")
        }
        // The context includes what `make deb` reads.
        for path in ["Package.swift", "bpf", "packaging", "scripts", "docs", "Sources"] {
            #expect(!ignored.contains(path), "\(path)")
        }
        #expect(ignored.contains(".git") && ignored.contains(".build"))
    }

    @Test("uses existing make targets, package lists and packages")
    func calls() throws {
        let lines: [String] = try Self.instructions().filter { $0.name == "RUN" }
            .map { $0.words.joined(separator: " ").components(separatedBy: "&&") }.flatMap(\.self)
        let commands: [[String]] = lines.map { $0.split(separator: " ").map(String.init) }
        let words = commands.filter { $0.first == "make" }.joined()
            .filter { $0 != "make" && !$0.contains("=") }
        #expect(words == ["deb"])
        let help = try Self.text("GNUmakefile")
        for word in words { #expect(help.contains("\n\(word): "), "\(word)") }

        let purposes = commands.filter { $0.first == "scripts/setup.sh" }
            .map { Array($0.prefix { $0 != "rm" }.dropFirst()) }
        #expect(purposes == [["build", "deb"]])
        for purpose in purposes.joined() {
            #expect(try SetupTests.Machine().run(purpose).status == 0, "\(purpose)")
        }

        let control = try Self.text("packaging/debian/control")
        let ours = commands.joined().compactMap {
            $0.firstMatch(of: /\/deb\/([a-z0-9-]+)_/)?.output.1
        }
        #expect(ours == ["udp-fanout", "reuseportlb-tools"])
        for package in ours { #expect(control.contains("\nPackage: \(package)\n"), "\(package)") }
    }

    @Test("checks its health by a command of the manual")
    func health() throws {
        let check = try #require(try Self.instructions().first { $0.name == "HEALTHCHECK" })
        let line = check.words.joined(separator: " ")
        let file = "/etc/udp-fanout/config.yaml"
        #expect(line.hasSuffix(#"CMD ["udp-fanout", "status", "--json", "--config", "\#(file)"]"#))
        let manual = try Self.text("docs/man/udp-fanout.1")
        #expect(manual.contains("\n.SS status\n") && manual.contains("\\-\\-json"))
        // The file that the container starts with.
        #expect(
            try Self.instructions().contains {
                $0.name == "CMD" && $0.words.last == "\"\(file)\"]"
            })
    }

    @Test("compose lab has the nodes, addresses and receivers of the scenario")
    func compose() throws {
        let compose = try Self.text("packaging/docker/compose.yaml")
        let scenario = try Self.text("packaging/docker/scenario.sh")
        let node = try Self.text("packaging/docker/lab/node.sh")
        let addresses = Set(
            compose.matches(of: /ipv4_address: ([\d.]+)/).map { String($0.output.1) })
        #expect(addresses.count == 6)
        for address in addresses {
            let inNode = node.contains(address)
            // The last digit of a receiver is its number.
            let inScenario =
                scenario.contains(address)
                || (address.hasPrefix("10.88.1.1") && scenario.contains("10.88.1.1$number"))
            #expect(inNode && inScenario, "\(address)")
        }
        for name in ["balancer", "client", "backend-1", "backend-2", "backend-3"] {
            #expect(compose.contains("\n  \(name):\n"), "\(name)")
        }
        for path in compose.matches(of: /dockerfile: (\S+)/).map({ String($0.output.1) }) {
            #expect(
                FileManager.default.fileExists(
                    atPath: SourceTree.root.appending(path: path).path), "\(path)")
        }
        let target = try #require(compose.firstMatch(of: /target: (\w+)/)?.output.1)
        #expect(try Self.instructions().contains { $0.stage == target })
    }
}
