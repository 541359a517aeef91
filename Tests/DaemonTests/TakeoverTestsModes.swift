// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing
import Tiers

/// Takeovers in the kernel modes, in a network of veths.
@Suite(
    "A takeover in the kernel modes", .tags(.load), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct TakeoverTestsModes {
    private static let goesOn = "takeover by another process failed; this process continues"

    private func takeoverChain(
        _ lab: VethLab, _ config: String
    ) async throws -> TakeoverChain {
        try await TakeoverChain(config) { try Load([lab.traffic()], rate: TakeoverChain.rate) }
    }

    @Test(
        "the program at the hook is replaced in one step: nothing is lost, the counters of all daemons add up",
        arguments: [("tc_ebpf", "tcx"), ("tc_ebpf", "clsact"), ("xdp_nat", "auto")])
    func takesOver(mode: String, attach: String) async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let before = try VethLab.state()
            let sinks = try lab.sinks()
            let config = VethLab.config(sinks.map(\.endpoint), mode: mode, attach: attach)
            let chain = try await takeoverChain(lab, config)
            for _ in 0..<3 { try await chain.takeOver(config) }
            let fewer = VethLab.config([sinks[0].endpoint], mode: mode, attach: attach)
            try await chain.takeOver(fewer)
            try await chain.settle(sinks)
            #expect(try VethLab.state() == before)
        }
    }

    @Test("a failed one leaves the hook to the old daemon, which loses nothing")
    func refused() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let config = VethLab.config(sinks.map(\.endpoint))
            let held = try HeldPort(try Ports.free(), SOCK_STREAM, listens: true)
            let bad = config + "metrics: {enabled: true, bind: \"127.0.0.1:\(held.port)\"}\n"
            let chain = try await takeoverChain(lab, config)
            for round in 1...2 {
                _ = try await chain.refuse(bad)
                try await chain.current.logs(Self.goesOn, times: round)
            }
            try await chain.takeOver(config)
            try await chain.settle(sinks)
        }
    }

    @Test(
        "a failed one with other receivers leaves the clients of xdp_nat with their existing servers"
    )
    func refusedWithOthers() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            func config(_ receivers: [Int]) -> String {
                VethLab.config(receivers.map { sinks[$0].endpoint }, mode: "xdp_nat")
            }
            let held = try HeldPort(try Ports.free(), SOCK_STREAM, listens: true)
            let bad =
                config([0, 2]) + "metrics: {enabled: true, bind: \"127.0.0.1:\(held.port)\"}\n"
            let chain = try await TakeoverChain(config([0, 1])) {
                try Load(try (0..<16).map { _ in try lab.traffic() }, rate: 20_000)
            }
            for round in 1...2 {
                _ = try await chain.refuse(bad)
                try await chain.current.logs(Self.goesOn, times: round)
            }
            try await chain.load.pass(1000)
            let before = sinks[2].arrivals
            try await chain.load.pass(5000)
            #expect(sinks[2].arrivals == before, "a receiver that the running daemon does not have")
            try await chain.takeOver(config([0, 1]))
            try await chain.settle(sinks)
        }
    }

    @Test("one that is killed halfway leaves the hook to the old daemon; nothing is lost")
    func killed() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let config = VethLab.config(sinks.map(\.endpoint))
            let chain = try await TakeoverChain(
                config, environment: ["UDP_FANOUT_LOG": "debug"]
            ) { try Load([lab.traffic()], rate: TakeoverChain.rate) }
            var kills = 0
            for _ in 0..<8 where kills < 2 {
                if try await chain.kill(config, after: "release") { kills += 1 }
            }
            #expect(kills == 2)
            let report = await chain.load.stop()
            try await eventually("all arrive") { sinks.arrivals >= report.datagrams }
            try await chain.current.stop()
            // The counters of a killed daemon's program are gone with it.
            let delivery = Delivery(of: report, at: sinks)
            #expect(delivery.lost == 0 && delivery.duplicates == 0, "\(delivery)")
        }
    }

    @Test("a change of mode on one address, from sockets to the hook and back, loses nothing")
    func otherMode() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            func config(_ mode: String) -> String {
                let text = VethLab.config(
                    sinks.map(\.endpoint), mode: mode, settings: "recv_buf_size: 8388608")
                return mode == "userspace"
                    ? text.replacing("    interface: lb0\n", with: "")
                        .replacing("  tc_attach: auto\n", with: "") : text
            }
            let chain = try await takeoverChain(lab, config("userspace"))
            try await chain.takeOver(config("tc_ebpf"))
            // Datagrams that are still in the sockets are overtaken at the hook.
            try await chain.settle(sinks, isOrdered: false)
        }
    }

    @Test(
        "af_xdp is taken over too; datagrams between two sockets of a queue go to the stack")
    func sockets() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let config = VethLab.config(sinks.map(\.endpoint), mode: "af_xdp")
            let chain = try await takeoverChain(lab, config)
            try await chain.takeOver(config)
            let before = sinks.arrivals
            try await chain.load.pass(5000)
            try await eventually("it forwards") { sinks.arrivals > before + 1000 }
            let report = await chain.load.stop()
            let forwarded = { UInt64(chain.total("forwarded")) }
            try await chain.current.stop()
            try await eventually("all that was forwarded arrives") { sinks.arrivals == forwarded() }
            let delivery = Delivery(of: report, at: sinks)
            #expect(delivery.duplicates == 0 && delivery.damaged == 0, "\(delivery)")
            #expect(chain.total("received") == chain.total("forwarded"))
            #expect(chain.total("received") == Int(delivery.arrived))
        }
    }
}
