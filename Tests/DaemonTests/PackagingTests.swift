// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import Testing

extension DaemonTests {
    @Suite("Packaging")
    struct PackagingTests {}
}

extension DaemonTests.PackagingTests {
    static let units = ["udp-fanout", "udp-fanout-tc", "udp-fanout-xdp"]

    @Test("each unit is hardened: systemd rates its exposure 2.5 or less", arguments: units)
    func exposure(unit: String) async throws {
        let folder = try ScratchFolder()
        let file = "\(unit).service"
        try folder.write(Files.source("packaging/systemd/\(file)"), to: file)
        let analysis = try ChildProcess(
            "/usr/bin/systemd-analyze",
            ["security", "--offline=true", "--no-pager", "--threshold=25", folder.path(file)])
        let ending = try await analysis.exit(within: .seconds(60))
        let last = analysis.record.state.output.last ?? ""
        #expect(ending == .exited(0), "\(last) \(analysis.record.state.errors)")
        #expect(last.contains("Overall exposure level"), "\(last)")
    }

    @Test(
        "each unit grants exactly the capabilities of its modes",
        arguments: [
            ("udp-fanout", ""), ("udp-fanout-tc", "CAP_BPF CAP_NET_ADMIN CAP_PERFMON"),
            ("udp-fanout-xdp", "CAP_BPF CAP_NET_ADMIN CAP_NET_RAW CAP_PERFMON"),
        ])
    func capabilities(unit: String, names: String) throws {
        let lines = try Files.source("packaging/systemd/\(unit).service").split(separator: "\n")
        #expect(lines.contains("CapabilityBoundingSet=\(names)"))
    }

    @Test("each unit lets the daemon ask which addresses the host has", arguments: units)
    func netlink(unit: String) throws {
        let lines = try Files.source("packaging/systemd/\(unit).service").split(separator: "\n")
        let families = try #require(lines.first { $0.hasPrefix("RestrictAddressFamilies=") })
        #expect(families.contains("AF_NETLINK"))
    }

    /// A command as the argument parser tells of it.
    private struct Command: Decodable {
        struct Argument: Decodable {
            struct Name: Decodable {
                let kind: String
                let name: String
            }
            let names: [Name]?
            let shouldDisplay: Bool
        }
        let commandName: String
        let arguments: [Argument]?
        let subcommands: [Command]?
    }

    @Test("the man page tells of every subcommand and every option")
    func manual() async throws {
        struct Tool: Decodable { let command: Command }
        let run = try await DaemonUnderTest.run(["--experimental-dump-help"])
        let tool = try JSONDecoder().decode(Tool.self, from: Data(run.output.utf8))
        // A minus sign is written \- there, lest it be typeset as a hyphen.
        let page = try Files.source("docs/man/udp-fanout.1").replacing("\\-", with: "-")
        for command in tool.command.subcommands ?? [] where command.commandName != "help" {
            // The command line of `nat` itself is that of its default subcommand.
            let parts = command.subcommands ?? []
            let inside = parts.filter { !["help", "run"].contains($0.commandName) }
            let own =
                (command.arguments ?? [])
                + (parts.first { $0.commandName == "run" }?.arguments ?? [])
            try expect(page, command.commandName, own)
            for part in inside {
                let name = "\(command.commandName) \(part.commandName)"
                try expect(page, name, part.arguments ?? [])
            }
        }
    }

    /// That the page has a section of this name, which names every option.
    private func expect(_ page: String, _ name: String, _ arguments: [Command.Argument]) throws {
        let begin = try #require(page.range(of: "\n.SS \(name)")?.upperBound, "\(name)")
        let rest = page[begin...]
        let section = rest[..<(rest.range(of: "\n.S")?.lowerBound ?? rest.endIndex)]
        for argument in arguments where argument.shouldDisplay {
            let names = (argument.names ?? []).filter {
                !["help", "h", "version"].contains($0.name)
            }
            guard !names.isEmpty else { continue }
            let spelled = names.map { $0.kind == "long" ? "--\($0.name)" : "-\($0.name)" }
            // One spelling may be another's with dashes for underscores.
            let isThere = spelled.contains { section.contains($0) }
            #expect(isThere, "\(name) \(spelled)")
            for short in spelled where !short.hasPrefix("--") {
                #expect(section.contains(short), "\(name) \(short)")
            }
        }
    }

    @Test("the shells are offered every subcommand", arguments: ["bash", "zsh", "fish"])
    func completions(shell: String) async throws {
        let run = try await DaemonUnderTest.run(["--generate-completion-script", shell])
        #expect(run.code == 0)
        for word in [
            "run", "check", "status", "top", "explain", "drain", "undrain", "reload", "doctor",
            "schema", "reference", "demo", "nat",
        ] {
            #expect(run.output.contains(word), "\(word)")
        }
    }
}
