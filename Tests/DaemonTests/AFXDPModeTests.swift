// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing
import Tiers

/// The mode af_xdp as its user sees it, in a network of veths.
@Suite(
    "Mode af_xdp", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct AFXDPModeTests {
    private static let attached = "attached XDP program"

    private func config(_ sinks: [Sink], settings: String = "", _ more: String = "") -> String {
        VethLab.config(sinks.map(\.endpoint), mode: "af_xdp", settings: settings, more)
    }

    @Test("logs the contract's messages, and metrics show the exact counts")
    func words() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let port = try Ports.free()
            let more = "metrics: {enabled: true, bind: \"127.0.0.1:\(port)\"}\n"
            try await DaemonUnderTest.running(config(sinks, more)) { daemon in
                let said = try await daemon.logs(Self.attached)
                #expect(said.fields["mode"] == "native" && said.fields["interface"] == "lb0")
                let queues = try await daemon.logs("detected available RX queues on interface")
                #expect(queues.fields["queues"] == "1")
                try await daemon.logs("AF_XDP path initialized")
                let report = try await lab.traffic().run(rate: 20_000, duration: .seconds(1))
                try await eventually("all arrive") { sinks.arrivals == report.datagrams }
                let page = try Shell.output("curl -s http://127.0.0.1:\(port)/metrics")
                for name in ["received", "forwarded"] {
                    let line = "udp_fanout_packets_\(name)_total{listener=\"in\",mode=\"af_xdp\"}"
                    #expect(page.contains("\(line) \(report.datagrams)\n"), "\(page)")
                }
                for name in ["rx_ring_empty", "fill_ring_full", "parse_errors", "kernel_sends"] {
                    let line = "udp_fanout_afxdp_\(name)_total{interface=\"lb0\",queue=\"0\"} "
                    #expect(page.contains(line), "\(page)")
                }
                try await daemon.reload(config([sinks[0]]))
                try await daemon.logs("updated af_xdp downstream set")
                try await daemon.stop()
            }
        }
    }

    @Test("falls back to SKB mode with a warning when the driver refuses native XDP")
    func fallsBack() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            // A veth refuses a program when its peer has more queues to send than it has to receive.
            try lab.balancer.ip("link delete lb0")
            try lab.balancer.ip(
                "link add lb0 numrxqueues 1 numtxqueues 1 type veth peer name c0 netns "
                    + "\(lab.client.path) numrxqueues 4 numtxqueues 4")
            for (network, name, number) in [(lab.balancer, "lb0", 1), (lab.client, "c0", 2)] {
                try network.set("ipv4/conf/\(name)/rp_filter", to: "0")
                try network.ip("link set \(name) up")
                try network.ip("address add \(VethLab.v4(0, number))/24 dev \(name)")
            }
            try lab.client.ip("route add default via \(VethLab.v4(0, 1))")
            let sinks = try lab.sinks()
            try await DaemonUnderTest.running(config(sinks)) { daemon in
                try await daemon.logs("native XDP attach failed, trying SKB mode")
                #expect(try await daemon.logs(Self.attached).fields["mode"] == "skb")
                let traffic = try lab.traffic()
                try await eventually("it forwards") {
                    traffic.send([UInt8](repeating: 0, count: 64))
                    return sinks.arrivals > 0
                }
                try await daemon.stop()
            }
        }
    }

    @Test("kill -9 leaves nothing behind, and the next daemon serves at once")
    func killed() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            for _ in 0..<5 {
                let daemon = try DaemonUnderTest(config(sinks))
                try await daemon.isRunning()
                try await daemon.logs(Self.attached)
                let (traffic, before) = (try lab.traffic(), sinks.arrivals)
                try await eventually("it forwards") {
                    traffic.send([UInt8](repeating: 0, count: 64))
                    return sinks.arrivals > before
                }
                await daemon.process.end()
            }
            try await eventually("no program is left") {
                try !Shell.output("ip -d link show lb0").contains("prog/xdp")
            }
        }
    }

    @Test("an object of another program is refused with a remedy, and none is attached")
    func foreignObject() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let daemon = try DaemonUnderTest(
                config(try lab.sinks()), ["--xdp-program", "/bin/true"])
            #expect(try await daemon.process.exit() == .exited(1))
            let said = daemon.process.record.state.errors.joined(separator: "\n")
            #expect(said.contains("start-up failed"), "\(said)")
            #expect(try !Shell.output("ip -d link show lb0").contains("prog/xdp"))
        }
    }
}
