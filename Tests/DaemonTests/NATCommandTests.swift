// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import LinuxNet
import Testing

extension DaemonTests {
    @Suite(
        "udp-fanout nat", .serialized,
        .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
    struct NATCommandTests {}
}

extension DaemonTests.NATCommandTests {
    private static func said(_ process: ChildProcess, _ message: String, times: Int = 1)
        async throws -> String
    {
        try await process.record.wait("\(times) × '\(message)'", within: .seconds(60)) { state in
            state.errors.filter { $0.contains(message) }.dropFirst(times - 1).first
        }
    }

    private static let isRunning = "udp-fanout is running"

    private func inLab(_ body: @Sendable (OneArmLab, ScratchFolder) async throws -> Void)
        async throws
    {
        let lab = try OneArmLab()
        let folder = try ScratchFolder()
        try await lab.balancer.run(ownMounts: true) { try await body(lab, folder) }
    }

    @Test("sbulb's usage line works as printed, for every port")
    func usage() async throws {
        try await inLab { lab, folder in
            let sinks = try lab.sinks()
            let process = try ChildProcess(
                Files.daemon,
                [
                    "nat", "eth0", "-vs", "\(lab.address)", "-rs", "\(lab.server(0))",
                    "\(lab.server(1))", "-p", "5683", "5684",
                ], folder: folder)
            _ = try await Self.said(process, Self.isRunning)
            for port in OneArmLab.ports {
                for _ in 0..<4 { try #require(try lab.traffic(port).send([1])) }
            }
            try await eventually("both servers get the packets of four clients on each port") {
                (0..<2).allSatisfy { port in
                    sinks.allSatisfy { $0[port].count > 0 }
                        && sinks.reduce(0) { $0 + $1[port].count } == 4
                }
            }
            let first = sinks[0].reduce(0) { $0 + $1.count }
            let show = try await DaemonUnderTest.run(["nat", "show"])
            #expect(show.code == 0)
            #expect(show.output.contains("8 associations on eth0: 0 answered, 8 unanswered"))
            let json = try await DaemonUnderTest.run(["nat", "show", "--json"])
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
            #expect((object["associations"] as? [Any])?.count == 8)
            #expect(object["unanswered"] as? Int == 8)
            let some = try await DaemonUnderTest.run(
                ["nat", "show", "--server", "\(lab.server(0)):5683"])
            #expect(some.output.contains("\(sinks[0][0].count) associations on eth0"))
            let dropped = try await DaemonUnderTest.run(
                ["nat", "drop", "--server", "\(lab.server(0))"])
            #expect(dropped.output == "\(first) associations dropped\n")
            let rest = try await DaemonUnderTest.run(["nat", "show", "--counts"])
            #expect(rest.output.contains("\(8 - first) associations on eth0"))
            // timeout(1) signals the process and its group; the daemon takes both as one signal.
            process.send(SIGTERM)
            process.send(SIGTERM)
            #expect(try await process.exit() == .exited(0))
            let none = try await DaemonUnderTest.run(["nat", "show"])
            #expect(none.code == 1)
            #expect(none.errors.first?.contains("no program of mode xdp_nat") == true)
            let nothing = try await DaemonUnderTest.run(["nat", "drop", "--all"])
            #expect(nothing.code == 1)
            #expect(nothing.errors.first?.contains("no program of mode xdp_nat") == true)
        }
    }

    @Test("the file of -cfg is followed; an invalid or missing one keeps the servers and is logged")
    func file() async throws {
        try await inLab { lab, folder in
            let sinks = try lab.sinks()
            let path = try folder.write("[Real Servers]\n\(lab.server(0))\n", to: "servers.ini")
            let process = try ChildProcess(
                Files.daemon,
                ["nat", "eth0", "-vs", "\(lab.address)", "-cfg", path, "-p", "5683"],
                folder: folder)
            _ = try await Self.said(process, Self.isRunning)
            try lab.traffic(5683).send([1])
            try await eventually("the first server gets the packet") { sinks[0][0].count == 1 }

            let refused = "configuration not reloaded, the previous one stays active"
            for (index, text) in [
                "[Real Servers]\n10.0.0.x\n", "10.0.0.1\n", "[Real Servers]\n",
                "[Real Servers]\n\(lab.server(0))\n\(lab.server(0))\n",
                "[Real Servers]\n\(lab.server(1)):99\n", "[Real Servers]\n\(lab.address)\n",
                "[Real Servers]\nfd00::1\n",
            ].enumerated() {
                try folder.replace("servers.ini", with: text)
                _ = try await Self.said(process, refused, times: index + 1)
            }
            unlink(path)
            let gone = try await Self.said(process, refused, times: 8)
            #expect(gone.contains("does not exist"))
            // Reading a pipe without a writer would block for ever.
            #expect(mkfifo(path, 0o600) == 0)
            let pipe = try await Self.said(process, refused, times: 9)
            #expect(pipe.contains("it is a pipe"))
            unlink(path)
            try lab.traffic(5683).send([1])
            try await eventually("the first server still gets packets") { sinks[0][0].count == 2 }

            // The same servers again: nothing changes, and the last reload succeeded.
            _ = try folder.write("[Real Servers]\n\(lab.server(0))\n", to: "servers.ini")
            _ = try await Self.said(process, "configuration reloaded")
            _ = try folder.write("[Real Servers]\n\(lab.server(1))\n", to: "servers.ini")
            _ = try await Self.said(process, "configuration reloaded", times: 2)
            try lab.traffic(5683).send([1])
            try await eventually("the other server gets the packet") { sinks[1][0].count == 1 }
            process.send(SIGHUP)
            _ = try await Self.said(process, "configuration reloaded", times: 3)
            process.send(SIGTERM)
            #expect(try await process.exit() == .exited(0))
        }
    }

    @Test("every thread keeps only the capabilities that a change of servers needs")
    func privileges() async throws {
        try await inLab { lab, folder in
            let process = try ChildProcess(
                Files.daemon,
                [
                    "nat", "eth0", "-vs", "\(lab.address)", "-rs", "\(lab.server(0))", "-p", "5683",
                ], folder: folder)
            _ = try await Self.said(process, Self.isRunning)
            // CAP_NET_ADMIN, CAP_PERFMON and CAP_BPF (linux/capability.h).
            let kept: UInt64 = 1 << 12 | 1 << 38 | 1 << 39
            for thread in try DaemonTests.PrivilegeTests.sets(of: process.pid) {
                for name in ["CapPrm", "CapEff", "CapBnd"] { #expect(thread[name] == kept) }
            }
            process.send(SIGTERM)
            #expect(try await process.exit() == .exited(0))
        }
    }

    @Test("kill -9 and a restart keep every association")
    func killed() async throws {
        try await inLab { lab, folder in
            let sinks = try lab.sinks()
            let arguments = [
                "nat", "eth0", "-vs", "\(lab.address)", "-rs", "\(lab.server(0))",
                "\(lab.server(1))", "-p", "5683",
            ]
            let traffic = try (0..<10).map { _ in try lab.traffic(5683) }
            for round in 1...3 {
                let process = try ChildProcess(Files.daemon, arguments, folder: folder)
                _ = try await Self.said(process, Self.isRunning)
                for one in traffic { one.send([1]) }
                try await eventually("each packet reaches a server") {
                    sinks.reduce(0) { $0 + $1[0].count } == UInt64(20 * round - 10)
                }
                await process.end()
                // No daemon runs, and packets are still translated.
                for one in traffic { one.send([2]) }
                try await eventually("each packet still reaches a server") {
                    sinks.reduce(0) { $0 + $1[0].count } == UInt64(20 * round)
                }
            }
            let clients = sinks.map { Set($0[0].datagrams.map(\.source)) }
            #expect(clients[0].isDisjoint(with: clients[1]))
            #expect(clients.map(\.count).reduce(0, +) == 10)
        }
    }

    @Test("the service manager is notified: ready, alive, stopping")
    func notify() async throws {
        try await inLab { lab, folder in
            let manager = try NotifySocket(folder)
            let process = try ChildProcess(
                Files.daemon,
                [
                    "nat", "eth0", "-vs", "\(lab.address)", "-rs", "\(lab.server(0))", "-p", "5683",
                ],
                environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "200000"],
                folder: folder)
            try await eventually("it is ready") { manager.lines.contains("READY=1") }
            try await eventually("it is alive") {
                manager.count("WATCHDOG=1") >= 3
            }
            process.send(SIGTERM)
            #expect(try await process.exit() == .exited(0))
            #expect(manager.lines.contains("STOPPING=1"))
        }
    }

    @Test(
        "bad usage is explained and exits 2",
        arguments: [
            (["eth0"], "virtual_server"),
            (["eth0", "-vs", "10.0.0.1", "-p", "1"], "-rs"),
            (["eth0", "-vs", "10.0.0.1", "-rs", "10.0.0.2", "-cfg", "f", "-p", "1"], "exclude"),
            (["eth0", "-vs", "10.0.0.1", "-rs", "10.0.0.2", "-p", "0"], "'0' is not a port"),
            (["eth0", "-vs", "10.0.0.1", "-rs", "10.0.0.2", "-p", "65536"], "65536"),
            (["eth0", "-vs", "vip", "-rs", "10.0.0.2", "-p", "1"], "'vip'"),
            (["eth0", "-vs", "127.0.0.1", "-rs", "10.0.0.2", "-p", "1"], "such as 10.40.0.1"),
            (
                ["eth0", "-vs", "10.0.0.1", "-vs", "10.0.0.3", "-rs", "10.0.0.2", "-p", "1"],
                "run one for each"
            ),
            (["lo", "-vs", "10.0.0.1", "-rs", "10.0.0.2", "-p", "1"], "such as eth0"),
            (["eth0", "-vs", "10.0.0.1", "-rs", "10.0.0.2", "-p", "1", "2", "-mp", "1"], "-mp"),
            (["eth0", "-vs", "10.0.0.1", "-rs", "10.0.0.2", "-p", "1", "-d", "5"], "-d"),
            (["eth0", "-vs", "10.0.0.1", "-rs", "10.0.0.2", "-p", "1", "-l", "loud"], "loud"),
        ])
    func badUsage(arguments: [String], says: String) async throws {
        let run = try await DaemonUnderTest.run(["nat"] + arguments)
        #expect(run.code == 2)
        #expect(run.errors.contains { $0.contains(says) }, "\(run.errors)")
        #expect(run.errors.contains { $0.hasPrefix("Usage: udp-fanout nat IFNET -vs VIP") })
    }

    @Test("an invalid real server is refused with a remedy")
    func badServer() async throws {
        for server in ["10.0.0.2:5683", "127.0.0.1", "name"] {
            let run = try await DaemonUnderTest.run([
                "nat", "eth0", "-vs", "10.0.0.1", "-rs", server, "-p", "1",
            ])
            #expect(run.code == 1)
            #expect(
                run.errors.contains {
                    $0.contains("'\(server)'") && $0.contains("give one without a port")
                }, "\(run.errors)")
        }
    }

    @Test("the usage names every option, and omits the optional `run`")
    func help() async throws {
        let help = try await DaemonUnderTest.run(["nat", "--help"])
        #expect(help.code == 0)
        for option in [
            "-vs VIP", "-rs IP", "-cfg FILE", "-p PORT", "-d 0..4", "-l LEVEL", "-mp N", "-mrs N",
            "-ma N", "--routed", "--balance BALANCE", "--counts", "--json", "--client", "--all",
        ] {
            #expect(help.output.contains(option), "\(option)")
        }
        #expect(!help.output.contains("nat run"))
        let run = try await DaemonUnderTest.run(["nat", "run", "--help"])
        #expect(run.output.contains("USAGE: udp-fanout nat IFNET"))
    }

    @Test("port 65535 is served, and more real servers than -mrs are refused")
    func limits() async throws {
        let run = try await DaemonUnderTest.run([
            "nat", "nowhere", "-vs", "10.0.0.1", "-rs", "10.0.0.2", "10.0.0.3", "-p", "65535",
            "-mrs", "1",
        ])
        #expect(run.code == 1)
        #expect(run.errors.contains { $0.contains("-mrs") }, "\(run.errors)")
    }
}
