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

    @Test("references and man pages are what the sources make; `make reference` writes them")
    func generated() async throws {
        let script = Files.sources.appending(path: "scripts/reference.py").path
        let check = try ChildProcess("python3", [script, "--check", Files.products.path])
        let ending = try await check.exit(within: .seconds(60))
        let state = check.record.state
        #expect(ending == .exited(0), "\(state.output + state.errors)")
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
