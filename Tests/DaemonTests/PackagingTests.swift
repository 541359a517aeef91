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

    @Test("each unit reloads by a signal, independent of the control socket", arguments: units)
    func reload(unit: String) throws {
        let lines = try Files.source("packaging/systemd/\(unit).service").split(separator: "\n")
        #expect(lines.contains("ExecReload=/bin/kill -HUP $MAINPID"))
    }

    @Test("the userspace unit is hardened with its drop-in for capabilities, too")
    func dropIn() async throws {
        let folder = try ScratchFolder()
        try folder.write(
            Files.source("packaging/systemd/udp-fanout.service"), to: "udp-fanout.service")
        try FileManager.default.createDirectory(
            atPath: folder.path("udp-fanout.service.d"), withIntermediateDirectories: true)
        try folder.write(
            Files.source("packaging/systemd/capabilities.conf"),
            to: "udp-fanout.service.d/capabilities.conf")
        let analysis = try ChildProcess(
            "/usr/bin/systemd-analyze",
            [
                "security", "--offline=true", "--no-pager", "--threshold=25",
                folder.path("udp-fanout.service"),
            ])
        let ending = try await analysis.exit(within: .seconds(60))
        #expect(ending == .exited(0), "\(analysis.record.state.errors)")
        // Shows that the drop-in has been read: without it the unit has PrivateUsers=.
        let users = analysis.record.state.output.first { $0.contains("PrivateUsers=") }
        #expect(users?.contains("✗") == true, "\(users ?? "")")
    }

    /// Runs postinst with limits of 1 000 and 99 999 999 bytes instead of the machine's.
    ///
    /// - Returns: the limits afterwards.
    private func limits(after preparation: String, _ command: String) async throws -> [String] {
        let folder = try ScratchFolder()
        let script = try folder.write(
            Files.source("packaging/debian/udp-fanout.postinst"), to: "postinst")
        let settings = try folder.write(
            Files.source("packaging/sysctl/udp-fanout.conf"), to: "settings")
        let words = """
            set -e
            mount --make-rprivate /
            mount -t tmpfs none /usr/lib/sysctl.d
            cp \(settings) /usr/lib/sysctl.d/00-udp-fanout.conf
            mount -t tmpfs none /proc/sys/net/core
            echo 1000 >/proc/sys/net/core/rmem_max
            echo 99999999 >/proc/sys/net/core/wmem_max
            mkdir -p /run/systemd
            mount -t tmpfs none /run/systemd
            \(preparation)
            \(command) sh \(script) configure
            cat /proc/sys/net/core/rmem_max /proc/sys/net/core/wmem_max
            """
        let process = try ChildProcess(
            "/usr/bin/unshare", ["--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", words],
            folder: folder)
        let ending = try await process.exit(within: .seconds(60))
        #expect(ending == .exited(0), "\(process.record.state.errors)")
        return process.record.state.output
    }

    @Test(
        "the package raises lower limits, lowers none, and changes nothing in a chroot",
        .enabled(if: Privilege.isRoot))
    func kernelLimits() async throws {
        let booted = "mkdir /run/systemd/system"
        #expect(try await limits(after: booted, "") == ["67108864", "99999999"])
        // No systemd: a container, or an image build.
        #expect(try await limits(after: ":", "") == ["1000", "99999999"])
        // A chroot that has the host's /run.
        let chroot = "mkdir /run/systemd/root && mount --rbind / /run/systemd/root && \(booted)"
        #expect(
            try await limits(after: chroot, "chroot /run/systemd/root") == ["1000", "99999999"])
    }

    @Test("every other file of sysctl.d overrides the package's, whose name sorts first")
    func precedence() throws {
        #expect(try Files.source("packaging/debian/rules").contains("sysctl.d/00-udp-fanout.conf"))
        #expect(
            try Files.source("packaging/debian/udp-fanout.postinst").contains(
                "=/usr/lib/sysctl.d/00-udp-fanout.conf"))
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

    @Test("each unit lets the daemon read the host's addresses", arguments: units)
    func netlink(unit: String) throws {
        let lines = try Files.source("packaging/systemd/\(unit).service").split(separator: "\n")
        let families = try #require(lines.first { $0.hasPrefix("RestrictAddressFamilies=") })
        #expect(families.contains("AF_NETLINK"))
    }

    /// A command as the argument parser describes it.
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

    @Test("the man page lists every subcommand and every option")
    func manual() async throws {
        struct Tool: Decodable { let command: Command }
        let run = try await DaemonUnderTest.run(["--experimental-dump-help"])
        let tool = try JSONDecoder().decode(Tool.self, from: Data(run.output.utf8))
        // Man pages write a minus sign as \-, because - is typeset as a hyphen.
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

    /// Expects that the page has a section of this name with every option.
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
            // One spelling is enough: the others may only differ in dashes and underscores.
            let isThere = spelled.contains { section.contains($0) }
            #expect(isThere, "\(name) \(spelled)")
            for short in spelled where !short.hasPrefix("--") {
                #expect(section.contains(short), "\(name) \(short)")
            }
        }
    }

    @Test("shell completion offers every subcommand", arguments: ["bash", "zsh", "fish"])
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
