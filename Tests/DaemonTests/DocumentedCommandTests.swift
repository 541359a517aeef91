// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import Testing

extension DaemonTests {
    /// The commands of pages, verbatim and in order, in their own network and file system.
    @Suite(
        "Commands of the documentation", .serialized,
        .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
    struct DocumentedCommandTests {}
}

extension DaemonTests.DocumentedCommandTests {
    /// A page and what its commands need.
    struct Page: CustomTestStringConvertible {
        let path: String
        /// Arguments of ip(8) that set up the network.
        let network: [String]
        /// Whether a daemon with the page's configuration runs first.
        let hasDaemon: Bool
        /// Commands that need more than a virtual network: a card's settings, another CPU's memory, or a
        /// setting of the whole machine.
        let notHere: [String]

        var testDescription: String { path }
    }

    static let lo = ["link set lo up"]
    static let pages = [
        Page(path: "docs/userspace.md", network: lo, hasDaemon: false, notHere: []),
        Page(path: "docs/syslog.md", network: lo, hasDaemon: false, notHere: []),
        Page(path: "docs/troubleshooting.md", network: lo, hasDaemon: true, notHere: []),
        Page(path: "docs/upgrade.md", network: lo, hasDaemon: true, notHere: []),
        Page(
            path: "docs/several-nodes.md",
            network: lo + [
                "link add eth0 type veth peer name eth1", "link set eth0 up", "link set eth1 up",
                "addr add 10.8.11.1/24 dev eth0", "addr add 10.8.12.1/24 dev eth0",
                "addr add 10.8.13.1/24 dev eth0",
            ], hasDaemon: false, notHere: []),
        Page(
            path: "docs/tuning.md",
            network: lo + [
                "link add eth0 numrxqueues 4 numtxqueues 4 type veth peer name eth1",
                "link set eth0 up",
            ], hasDaemon: false,
            notHere: [
                "sysctl -w net.core.rmem_max=16777216", "ethtool -L eth0 combined 4",
                "ethtool -N eth0 rx-flow-hash udp4 sdfn",
                "grep eth0 /proc/interrupts", "echo 4 > /proc/irq/IRQ/smp_affinity",
                "cat /sys/class/net/eth0/device/numa_node",
                "numactl --cpunodebind=0 --membind=0 udp-fanout --config config.yaml",
            ]),
    ]

    /// The blocks of a language, in order.
    private static func blocks(_ language: String, of path: String) throws -> [String] {
        let text = try Files.source(path)
        return text.matches(of: /\n```(\w+)\n((?s:.*?))\n```/)
            .filter { $0.output.1 == language }.map { String($0.output.2) }
    }

    private static func commands(of path: String) throws -> [String] {
        try blocks("sh", of: path).flatMap { $0.components(separatedBy: "\n") }
            .map {
                $0.replacing(/(^|\s+)#\s.*$/, with: "").trimmingCharacters(in: .whitespaces)
            }
            .filter { !$0.isEmpty }
    }

    private func start(_ command: String, in folder: ScratchFolder) throws -> ChildProcess {
        try ChildProcess(
            "/bin/sh", ["-c", "exec \(command)"],
            environment: [
                "PATH": "\(Files.products.path):/usr/sbin:/usr/bin:/sbin:/bin",
                "RUNTIME_DIRECTORY": folder.url.path,
            ], folder: folder)
    }

    private func startDaemon(_ command: String, in folder: ScratchFolder) async throws
        -> ChildProcess
    {
        // A shell, to change into the folder.
        let process = try start("sh -c 'cd \(folder.url.path) && exec \(command)'", in: folder)
        try await process.record.wait("the start of \(command)") { state in
            state.errors.first { $0.contains("udp-fanout is running") }
        }
        return process
    }

    @Test("each succeeds", arguments: pages)
    func page(_ page: Page) async throws {
        let commands = try Self.commands(of: page.path)
        #expect(!commands.isEmpty)
        #expect(page.notHere.filter { !commands.contains($0) } == [], "commands that no page shows")
        let own = try Self.blocks("yaml", of: page.path).first { $0.contains("listeners:") }
        let config = try #require(try own ?? Self.blocks("yaml", of: "docs/userspace.md").first)
        try await Namespace.withOwnMounts(page.network) {
            try Namespace.command("mount -t sysfs none /sys")
            let folder = try ScratchFolder()
            try folder.write(config + "\n", to: "config.yaml")
            var daemons: [ChildProcess] = []
            if page.hasDaemon {
                daemons.append(
                    try await startDaemon("udp-fanout --config config.yaml", in: folder))
            }
            for command in commands where !page.notHere.contains(command) {
                if command.hasPrefix("udp-fanout --") {
                    daemons.append(try await startDaemon(command, in: folder))
                    continue
                }
                let process = try start(
                    "sh -c 'cd \(folder.url.path) && \(command)'", in: folder)
                let ending = try await process.exit()
                let state = process.record.state
                #expect(ending == .exited(0), "\(command): \(state.output) \(state.errors)")
            }
            for daemon in daemons { await daemon.end() }
        }
    }

    @Test("every YAML block with listeners on the pages is a valid configuration")
    func configurations() async throws {
        for path in [
            "README.md", "docs/netflow.md", "docs/syslog.md", "docs/replies.md",
            "docs/userspace.md", "docs/tc-ebpf.md", "docs/af-xdp.md", "docs/xdp-nat.md",
        ] {
            let blocks = try Self.blocks("yaml", of: path).filter { $0.contains("listeners:") }
            #expect(!blocks.isEmpty, "\(path)")
            for block in blocks {
                let folder = try ScratchFolder()
                let file = try folder.write(block + "\n", to: "config.yaml")
                let check = try await DaemonUnderTest.run(["check", "--config", file])
                #expect(check.code == 0, "\(path): \(check.errors)")
            }
        }
    }
}
