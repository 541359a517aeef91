// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing

extension DaemonTests {
    /// Mode xdp_nat with exactly the capabilities that packaging/systemd grants.
    @Suite(
        "xdp_nat under its unit", .serialized,
        .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
    struct NATRestartTests {}
}

extension DaemonTests.NATRestartTests {
    private static let granted = ["bpf", "net_admin", "net_raw", "perfmon"]

    /// The command that starts the daemon.
    private static var prefix: [String] {
        let set = (["-all"] + granted.map { "+\($0)" }).joined(separator: ",")
        return ["/usr/bin/setpriv", "--no-new-privs", "--bounding-set=\(set)", "--inh-caps=-all"]
    }

    private static func config(_ lab: OneArmLab, maxAssociations: Int = 4096) -> String {
        """
        listeners:
          - name: in
            vip: "\(lab.address)"
            ports: [5683]
            mode: xdp_nat
            interface: eth0
            one_arm: true
            max_associations: \(maxAssociations)
            downstream:
              - {name: a, address: "\(lab.server(0))"}
              - {name: b, address: "\(lab.server(1))"}

        """
    }

    /// Runs `body` in a network and mounts of its own. Mounting takes a capability that the daemon lacks.
    private func inLab(
        _ body: @Sendable (OneArmLab, ScratchFolder) async throws -> Void
    ) async throws {
        let lab = try OneArmLab()
        let folder = try ScratchFolder()
        try await lab.balancer.run(ownMounts: true) {
            try Namespace.command("mount -t bpf bpf /sys/fs/bpf")
            try await body(lab, folder)
            #expect(try Shell.output("find /sys/fs/bpf -path */udp-fanout*") == "")
        }
    }

    private func start(_ lab: OneArmLab, _ folder: ScratchFolder, maxAssociations: Int = 4096)
        async throws -> DaemonUnderTest
    {
        let daemon = try DaemonUnderTest(
            Self.config(lab, maxAssociations: maxAssociations), folder: folder,
            prefix: Self.prefix)
        try await daemon.isRunning()
        return daemon
    }

    /// Bits of CapPrm in /proc/PID/status.
    private func permitted(_ process: pid_t) throws -> UInt64 {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("CapPrm:") }
        let bits = line?.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) }
        return try #require(bits)
    }

    @Test("kill -9 and a restart under traffic keep every association and every datagram")
    func killed() async throws {
        try await inLab { lab, folder in
            let sinks = try lab.servers.enumerated().map { index, network in
                try network.enter { try Sink(on: lab.server(index), port: 5683) }
            }
            var daemon = try await start(lab, folder)
            // CAP_SYS_ADMIN is number 21 (linux/capability.h).
            #expect(try permitted(daemon.pid) & 1 << 21 == 0)
            let attachments = try daemon.status().attachments
            #expect(attachments.map(\.interface) == ["eth0"])
            #expect(attachments.map(\.hook) == ["skb"] && attachments.map(\.mode) == ["xdp_nat"])

            let traffic = try (0..<20).map { _ in try lab.traffic(5683) }
            let load = try Load(traffic, rate: 2000)
            for _ in 0..<3 {
                try await load.pass(500)
                await daemon.process.end()
                // No daemon runs, and packets are still translated.
                try await load.pass(500)
                daemon = try await start(lab, folder)
                #expect(try await daemon.logs("attached XDP program").fields["replaced"] == "true")
            }
            try await load.pass(500)
            let report = await load.stop()
            try await eventually("all arrive") {
                sinks.reduce(0) { $0 + $1.arrivals } == report.datagrams
            }
            let clients = sinks.map { Set($0.datagrams.map(\.source)) }
            #expect(clients[0].isDisjoint(with: clients[1]))
            #expect(clients.map(\.count).reduce(0, +) == 20)
            try await daemon.stop()
        }
    }

    @Test("a change that needs another program works without CAP_SYS_ADMIN and keeps them")
    func renewed() async throws {
        try await inLab { lab, folder in
            let sinks = try lab.servers.enumerated().map { index, network in
                try network.enter { try Sink(on: lab.server(index), port: 5683) }
            }
            let daemon = try await start(lab, folder)
            let traffic = try (0..<10).map { _ in try lab.traffic(5683) }
            for one in traffic { one.send([1]) }
            try await eventually("each packet reaches a server") {
                sinks.reduce(0) { $0 + $1.arrivals } == 10
            }
            // The longest payload is a constant of the program.
            try await daemon.reload(Self.config(lab) + "settings:\n  max_packet_size: 1234\n")
            for one in traffic { one.send([2]) }
            try await eventually("each packet reaches its server again") {
                sinks.reduce(0) { $0 + $1.arrivals } == 20
            }
            let clients = sinks.map { Set($0.datagrams.map(\.source)) }
            #expect(clients[0].isDisjoint(with: clients[1]))
            try await daemon.stop()
        }
    }

    @Test("what a killed daemon left is removed when the next one has no listener of the mode")
    func unnamed() async throws {
        try await inLab { lab, folder in
            await (try start(lab, folder)).process.end()
            #expect(try Shell.output("ip -d link show eth0").contains("xdp"))
            let userspace = """
                listeners:
                  - name: in
                    bind: "127.0.0.1:5683"
                    downstream: [{name: a, address: "127.0.0.1:5684"}]

                """
            let daemon = try DaemonUnderTest(userspace, folder: folder, prefix: Self.prefix)
            try await daemon.isRunning()
            try await daemon.logs(
                "removed the program and the associations that an old daemon had left")
            #expect(try !Shell.output("ip -d link show eth0").contains("xdp"))
            try await daemon.stop()
        }
    }
}
