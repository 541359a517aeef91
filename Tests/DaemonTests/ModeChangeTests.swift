// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing
import Tiers

/// A reload changes the mode of a listener, in a network of veths.
@Suite(
    "A change of mode", .tags(.load), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct ModeChangeTests {
    /// - Parameters:
    ///   - beside: the mode of another listener that stays.
    ///   - interface: that listener's.
    private func config(
        _ mode: String, _ receivers: [Endpoint], beside: String? = nil, on interface: String = "lb0"
    ) -> String {
        let other = beside.map { mode in
            """
              - {name: other, bind: "\(VethLab.v4(0, 1)):\(VethLab.port + 1)", mode: \(mode), interface: \(interface),
                 downstream: [{name: other, address: "\(VethLab.v4(1, 2)):9"}]}

            """
        }
        let text = VethLab.config(receivers, mode: mode, settings: "recv_buf_size: 8388608")
        return
            (mode == "userspace" ? text.replacing("    interface: lb0\n", with: "") : text)
            .replacing("  tc_attach: auto\n", with: "")
            .replacing("settings:\n", with: (other ?? "") + "settings:\n")
    }

    @Test(
        "there and back is make-before-break: nothing is lost or duplicated",
        arguments: [
            // A daemon without a listener of a mode has released its capabilities, so these go one way.
            ("tc_ebpf", "userspace", nil), ("af_xdp", "userspace", nil),
            ("xdp_nat", "userspace", nil), ("xdp_nat", "tc_ebpf", nil),
            ("userspace", "tc_ebpf", "tc_ebpf"), ("userspace", "xdp_nat", "xdp_nat"),
            ("tc_ebpf", "xdp_nat", "xdp_nat"), ("xdp_nat", "tc_ebpf", "tc_ebpf"),
        ] as [(String, String, String?)])
    func loss(one: String, another: String, beside: String?) async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let receivers = sinks.map(\.endpoint)
            let first = config(one, receivers, beside: beside)
            try await DaemonUnderTest.running(first) { daemon in
                let load = try Load([lab.traffic()], rate: 20_000)
                for _ in 0..<(beside == nil ? 1 : 2) {
                    try await load.pass(2000)
                    try await daemon.reload(config(another, receivers, beside: beside))
                    try await load.pass(2000)
                    if beside != nil { try await daemon.reload(first) }
                }
                try await load.pass(2000)
                let delivery = await Self.settled(load, sinks)
                #expect(delivery.lost == 0 && delivery.duplicates == 0, "\(delivery)")
                try await daemon.stop()
            }
        }
    }

    @Test(
        "of one port, while the listener keeps another one: nothing is lost or duplicated",
        arguments: ["userspace", "xdp_nat"])
    func portPasses(mode: String) async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let receivers = sinks.map(\.endpoint)
            let first = config(mode, receivers, beside: "tc_ebpf")
            let moved = first.replacing(":\(VethLab.port)\"", with: ":\(VethLab.port + 2)\"")
            let (one, another) = (VethLab.v4(1, 2), VethLab.v4(2, 2))
            let next = """
                  - {name: next, bind: "\(VethLab.v4(0, 1)):\(VethLab.port)", mode: tc_ebpf, interface: lb0,
                     downstream: [{name: a, address: "\(one):\(receivers[0].port)"},
                                  {name: b, address: "\(another):\(receivers[1].port)"}]}

                """
            try await DaemonUnderTest.running(first) { daemon in
                let load = try Load([lab.traffic()], rate: 20_000)
                for _ in 0..<2 {
                    try await load.pass(2000)
                    try await daemon.reload(
                        moved.replacing("listeners:\n", with: "listeners:\n" + next))
                    try await load.pass(2000)
                    try await daemon.reload(first)
                }
                try await load.pass(2000)
                let delivery = await Self.settled(load, sinks)
                #expect(delivery.lost == 0 && delivery.duplicates == 0, "\(delivery)")
                try await daemon.stop()
            }
        }
    }

    @Test("between two XDP modes on one interface detaches the old program first")
    func sameHook() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sink = try lab.sinks()[0]
            let nat = config("xdp_nat", [sink.endpoint], beside: "af_xdp", on: "out2")
            let afXDP = config("af_xdp", [sink.endpoint], beside: "af_xdp", on: "out2")
            try await DaemonUnderTest.running(nat) { daemon in
                let load = try Load([lab.traffic()], rate: 5_000)
                for next in [afXDP, nat, afXDP] {
                    try await load.pass(500)
                    try await daemon.reload(next)
                    let seen = sink.count
                    try await eventually("it flows on") { sink.count > seen + 500 }
                }
                _ = await load.stop()
                try await daemon.stop()
            }
        }
    }

    /// Why a plane cannot apply the change, which it checks beforehand.
    enum Refusal: String, CaseIterable { case portTaken, noInterface }

    @Test(
        "is refused together with an invalid listener, and no new receiver gets anything meanwhile",
        arguments: ["userspace", "tc_ebpf", "xdp_nat"], Refusal.allCases)
    func refused(mode: String, refusal: Refusal) async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let held = try HeldPort(try Ports.free(), SOCK_DGRAM)
            let first = config(mode, [sinks[0].endpoint], beside: "xdp_nat")
            let (place, reason) =
                switch refusal {
                case .portTaken: ("bind: \"127.0.0.1:\(held.port)\"", "EADDRINUSE")
                case .noInterface:
                    (
                        "bind: \"\(VethLab.v4(0, 1)):9\", mode: xdp_nat, interface: nowhere",
                        "there is no such interface"
                    )
                }
            let bad =
                "  - {name: bad, \(place), downstream: [{name: a, address: \"\(VethLab.v4(2, 2)):9\"}]}\n"
            let next = config("tc_ebpf", [sinks[1].endpoint], beside: "xdp_nat")
                .replacing("listeners:\n", with: "listeners:\n" + bad)
            try await DaemonUnderTest.running(first) { daemon in
                let load = try Load([lab.traffic()], rate: 20_000)
                try await load.pass(1000)
                try daemon.folder.replace(DaemonUnderTest.configName, with: next)
                let line = try await daemon.logs(DaemonUnderTest.notReloaded)
                #expect(line.fields["error"]?.contains(reason) == true, "\(line.fields)")
                try await load.pass(1000)
                let delivery = await Self.settled(load, sinks)
                #expect(delivery.isExact(), "\(delivery)")
                #expect(sinks[1].arrivals == 0)
                try await daemon.stop()
            }
        }
    }

    @Test(
        "to a mode whose capabilities have been released is refused with a remedy; nothing is lost"
    )
    func released() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let receivers = sinks.map(\.endpoint)
            let first = config("userspace", receivers)
            try await DaemonUnderTest.running(first) { daemon in
                let load = try Load([lab.traffic()], rate: 20_000)
                try await load.pass(1000)
                try daemon.folder.replace(
                    DaemonUnderTest.configName, with: config("af_xdp", receivers))
                let line = try await daemon.logs(DaemonUnderTest.notReloaded)
                let error = try #require(line.fields["error"])
                #expect(
                    error.contains("CAP_NET_RAW") && error.contains("run `udp-fanout --takeover`"),
                    "\(error)")
                try await load.pass(1000)
                let delivery = await Self.settled(load, sinks)
                #expect(delivery.isExact(), "\(delivery)")
                try await daemon.stop()
            }
        }
    }

    static func settled(_ load: Load, _ sinks: [Sink]) async -> Delivery {
        let report = await load.stop()
        try? await eventually(within: .seconds(3), "all arrive") {
            sinks.arrivals >= report.datagrams
        }
        return Delivery(of: report, at: sinks)
    }
}
