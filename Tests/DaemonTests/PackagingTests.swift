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
            #expect(page.contains("\n.SS \(command.commandName)"), "\(command.commandName)")
            let begin = try #require(page.range(of: "\n.SS \(command.commandName)")?.upperBound)
            let rest = page[begin...]
            let section = rest[..<(rest.range(of: "\n.S")?.lowerBound ?? rest.endIndex)]
            for argument in command.arguments ?? [] where argument.shouldDisplay {
                for name in argument.names ?? []
                where !["help", "h", "version"].contains(name.name) {
                    let spelled = name.kind == "long" ? "--\(name.name)" : "-\(name.name)"
                    #expect(section.contains(spelled), "\(command.commandName) \(spelled)")
                }
            }
        }
    }

    @Test("the shells are offered every subcommand", arguments: ["bash", "zsh", "fish"])
    func completions(shell: String) async throws {
        let run = try await DaemonUnderTest.run(["--generate-completion-script", shell])
        #expect(run.code == 0)
        for word in [
            "run", "check", "status", "top", "explain", "drain", "undrain", "reload", "doctor",
            "demo",
        ] {
            #expect(run.output.contains(word), "\(word)")
        }
    }
}
