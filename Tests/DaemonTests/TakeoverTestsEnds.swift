// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing
import Tiers

/// Takeovers to other modes, and processes that end during a takeover, in a network of veths.
@Suite(
    "A takeover that changes the mode or is interrupted", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct TakeoverTestsEnds {
    private static let goesOn = "takeover by another process failed; this process continues"

    private func config(_ mode: String, _ receivers: [Endpoint]) -> String {
        let text = VethLab.config(receivers, mode: mode, settings: "recv_buf_size: 8388608")
            .replacing("  tc_attach: auto\n", with: "")
        return mode == "userspace" ? text.replacing("    interface: lb0\n", with: "") : text
    }

    @Test(
        "to another mode leaves no socket behind: there and back, and back by a reload",
        arguments: ["tc_ebpf", "xdp_nat"])
    func thereAndBack(mode: String) async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let before = try VethLab.state()
            let sinks = try lab.sinks()
            let (kernel, user) = (
                config(mode, sinks.map(\.endpoint)), config("userspace", sinks.map(\.endpoint))
            )
            let chain = try await TakeoverChain(user) {
                try Load([lab.traffic()], rate: 5000)
            }
            for next in [kernel, user, kernel] { try await chain.takeOver(next) }
            try await chain.current.reload(user)
            try await chain.load.pass(1000)
            let report = await chain.load.stop()
            try await eventually("all arrive") { sinks.arrivals >= report.datagrams }
            try await chain.current.stop()
            let delivery = Delivery(of: report, at: sinks)
            #expect(delivery.lost == 0 && delivery.duplicates == 0, "\(delivery)")
            #expect(try VethLab.state() == before)
        }
    }

    @Test("that fails in another mode removes its program", arguments: ["tc_ebpf", "xdp_nat"])
    func failsElsewhere(mode: String) async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let before = try VethLab.state()
            let sinks = try lab.sinks()
            let held = try HeldPort(try Ports.free(), SOCK_STREAM, listens: true)
            let first = config("userspace", [sinks[0].endpoint])
            let bad =
                config(mode, [sinks[1].endpoint])
                + "metrics: {enabled: true, bind: \"127.0.0.1:\(held.port)\"}\n"
            let chain = try await TakeoverChain(first) {
                try Load([lab.traffic()], rate: 5000)
            }
            _ = try await chain.refuse(bad)
            try await chain.current.logs(Self.goesOn)
            #expect(try VethLab.state() == before)
            try await chain.load.pass(1000)
            let strays = sinks[1].arrivals
            try await chain.load.pass(1000)
            #expect(sinks[1].arrivals == strays)
            try await chain.current.stop()
            _ = await chain.load.stop()
        }
    }

    /// A daemon that takes over and waits for the receivers of a listener whose name server is silent.
    private func begin(_ chain: TakeoverChain, _ config: String) async throws -> (
        DaemonUnderTest, HeldPort
    ) {
        let silent = try HeldPort(try Ports.free(), SOCK_DGRAM)
        let looking =
            "  - {name: looking, bind: \"127.0.0.1:\(try Ports.free())\", dns: {name: r.example, port: 9,"
            + " server: \"127.0.0.1:\(silent.port)\"}}\n"
        let path = try chain.folder.write(
            config.replacing("listeners:\n", with: "listeners:\n" + looking), to: "next.yaml")
        let next = try DaemonUnderTest(
            nil, ["--takeover", "--config", path], folder: chain.folder)
        try await next.logs("taking over")
        return (next, silent)
    }

    @Test(
        "is aborted when its process is asked to end; the old daemon continues, and refuses reloads until then",
        arguments: [SIGINT, SIGTERM, SIGUSR2])
    func released(signal: Int32) async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let config = config("tc_ebpf", sinks.map(\.endpoint))
            let chain = try await TakeoverChain(config) {
                try Load([lab.traffic()], rate: 5000)
            }
            let (next, silent) = try await begin(chain, config)
            let reload = try await DaemonUnderTest.run(["reload"], folder: chain.folder)
            let words = reload.output + reload.errors.joined()
            #expect(
                reload.code == 1 && words.contains("another process is taking over"), "\(reload)")
            next.process.send(signal)
            #expect(try await next.process.exit() == .exited(1))
            try await chain.current.logs(Self.goesOn)
            try await chain.load.pass(1000)
            try await chain.settle(sinks)
            withExtendedLifetime(silent) {}
        }
    }

    @Test(
        "continues when the old daemon is killed; one that is asked to end waits for it",
        arguments: [(SIGKILL, "tc_ebpf"), (SIGKILL, "xdp_nat"), (SIGTERM, "tc_ebpf")])
    func orphaned(signal: Int32, mode: String) async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let before = try VethLab.state()
            let sinks = try lab.sinks()
            let config = config(mode, sinks.map(\.endpoint))
            let chain = try await TakeoverChain(config) {
                try Load([lab.traffic()], rate: 5000)
            }
            let (next, silent) = try await begin(chain, config)
            chain.current.process.send(signal)
            let ending = try await chain.current.process.exit()
            #expect(ending == (signal == SIGKILL ? .killed(SIGKILL) : .exited(0)))
            try await next.isRunning()
            try await chain.load.pass(1000)
            let delivery = await ModeChangeTests.settled(chain.load, sinks)
            #expect(delivery.isExact(), "\(delivery)")
            try await next.stop()
            #expect(try VethLab.state() == before)
            withExtendedLifetime(silent) {}
        }
    }

    @Test(
        "that hangs longer than the old daemon can wait keeps the sockets and their queued datagrams"
    )
    func hangs() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let config = config("userspace", sinks.map(\.endpoint))
            let chain = try await TakeoverChain(config) {
                try Load([lab.traffic()], rate: 5000)
            }
            let (next, silent) = try await begin(chain, config)
            next.process.send(SIGSTOP)
            chain.current.process.send(SIGTERM)
            #expect(try await chain.current.process.exit(within: .seconds(30)) == .exited(0))
            next.process.send(SIGCONT)
            try await next.isRunning()
            let seen = sinks.arrivals
            try await eventually("it flows on") { sinks.arrivals > seen + 1000 }
            _ = await chain.load.stop()
            try await next.stop()
            withExtendedLifetime(silent) {}
        }
    }
}
