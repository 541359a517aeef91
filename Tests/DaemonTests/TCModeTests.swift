// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing
import Tiers

/// The mode tc_ebpf as its user sees it, in a network of veths.
@Suite(
    "Mode tc_ebpf", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct TCModeTests {
    private static let attached = "attached TC eBPF program to ingress"

    private func config(_ sinks: [Sink], attach: String = "auto", _ more: String = "") -> String {
        VethLab.config(sinks.map(\.endpoint), attach: attach, more)
    }

    @Test(
        "after kill -9 the program forwards on; a restart takes it over; neither loses a datagram",
        arguments: [
            (attach: "tcx", Receivers.written), (attach: "tcx", Receivers.found),
            (attach: "tcx", Receivers.vanished), (attach: "clsact", Receivers.written),
        ])
    func killed(attach: String, receivers: Receivers) async throws {
        let lab = try VethLab()
        let folder = try ScratchFolder()
        try await lab.balancer.run(ownMounts: true) {
            let before = try VethLab.state()
            let sinks = try lab.sinks()
            var yaml = config(sinks, attach: attach)
            if receivers != .written {
                let list = sinks.map { "\($0.endpoint)\n" }.joined()
                let file = try folder.write(list, to: "receivers")
                yaml = """
                    listeners:
                      - {name: in, bind: "\(VethLab.v4(0, 1)):\(VethLab.port)", mode: tc_ebpf,
                         interface: lb0, file: {path: "\(file)"}}
                    settings: {tc_attach: \(attach)}
                    """
            }
            var daemon = try DaemonUnderTest(yaml)
            try await daemon.isRunning()
            let first = try await daemon.logs(Self.attached)
            #expect(first.fields["attach"] == attach)
            #expect(first.fields["interface"] == "lb0")
            for message in ["registered listener in eBPF map", "eBPF fast path initialized"] {
                try await daemon.logs(message)
            }
            let load = try Load([lab.traffic()], rate: 50_000)
            if receivers == .vanished {
                try await daemon.remembersReceivers()
                try FileManager.default.removeItem(atPath: folder.path("receivers"))
            }
            for _ in 0..<3 {
                try await load.pass(10_000)
                await daemon.process.end()
                try await load.pass(10_000)
                daemon = try DaemonUnderTest(yaml, folder: daemon.folder)
                try await daemon.isRunning()
                #expect(try await daemon.logs(Self.attached).fields["replaced"] == "true")
            }
            try await load.pass(10_000)
            let report = await load.stop()
            try await eventually("all arrive") { sinks.arrivals == report.datagrams }
            let delivery = Delivery(of: report, at: sinks)
            #expect(delivery.isExact(), "\(delivery)")
            try await daemon.stop()
            #expect(try VethLab.state() == before)
        }
    }

    @Test("an interface that is deleted and created again is served again")
    func recreated() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            try await DaemonUnderTest.running(config(sinks)) { daemon in
                try lab.traffic().send([UInt8](repeating: 0, count: 64))
                try await eventually("it forwards") { sinks.arrivals == 1 }
                try lab.balancer.ip("link delete lb0")
                try await daemon.logs("interface is gone, its listeners wait for it to come back")
                try VethLab.connect(lab.balancer, "lb0", lab.client, "c0", subnet: 0)
                try await daemon.logs(Self.attached, times: 2)
                let traffic = try lab.traffic()
                try await eventually("it forwards again") {
                    traffic.send([UInt8](repeating: 0, count: 64))
                    return sinks.arrivals > 1
                }
                try await daemon.stop()
            }
        }
    }

    @Test(
        "a program that is detached from outside is attached again, and that is logged",
        arguments: ["tcx", "clsact"])
    func takenOff(attach: String) async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let (before, sinks) = (try VethLab.state(), try lab.sinks())
            try await DaemonUnderTest.running(config(sinks, attach: attach)) { daemon in
                if attach == "clsact" {
                    try Namespace.command("tc qdisc del dev lb0 clsact")
                } else {
                    let link = try Shell.output("find /sys/fs/bpf -name tc_link")
                    try Namespace.command(
                        "bpftool link detach pinned \(link.split(separator: "\n")[0])")
                }
                let line = try await daemon.logs(
                    "the program was detached from the interface, it is attached again")
                #expect(line.level == "warn" && line.fields["interface"] == "lb0")
                try await daemon.logs(Self.attached, times: 2)
                try lab.traffic().send([UInt8](repeating: 0, count: 64))
                try await eventually("it forwards") { sinks.arrivals == 1 }
                try await daemon.stop()
            }
            #expect(try VethLab.state() == before)
        }
    }

    @Test("a reload detaches from an interface that it no longer names")
    func leftByReload() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let one = config(sinks)
            let second = """
                  - {name: second, bind: "10.8.1.1:5514", mode: tc_ebpf, interface: out0,
                     downstream: [{name: r, address: "\(sinks[1].endpoint)"}]}

                """
            let two = one.replacing("settings:\n", with: second + "settings:\n")
            func pins() throws -> Int {
                try Shell.output("find /sys/fs/bpf -name tc_link").split(separator: "\n").count
            }
            try await DaemonUnderTest.running(two) { daemon in
                #expect(try pins() == 2)
                try await daemon.reload(one)
                #expect(try pins() == 1)
                try lab.traffic().send([UInt8](repeating: 0, count: 64))
                try await eventually("the other interface is still served") { sinks.arrivals == 1 }
                try await daemon.stop()
            }
        }
    }

    @Test("a renamed interface stays served, also over a change of receivers")
    func renamed() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            try await DaemonUnderTest.running(config(sinks)) { daemon in
                try lab.balancer.ip("link set lb0 down")
                try await daemon.logs("interface is down, nothing comes in by it")
                try lab.balancer.ip("link set lb0 name outer up")
                let line = try await daemon.logs(
                    "interface was renamed, its listeners stay with it until the next start")
                #expect(line.fields["now"] == "outer")
                try await daemon.logs("interface is up again")
                try await daemon.reload(config([sinks[0]]))
                try await daemon.logs("updated tc_ebpf downstream set")
                let traffic = try lab.traffic()
                try await eventually("it forwards") {
                    traffic.send([UInt8](repeating: 0, count: 64))
                    return sinks[0].arrivals > 1
                }
                #expect(sinks[1].arrivals + sinks[2].arrivals == 0)
                try await daemon.stop()
            }
        }
    }

    @Test("metrics show the exact counts with mode tc_ebpf")
    func metrics() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let port = try Ports.free()
            let more = "metrics: {enabled: true, bind: \"127.0.0.1:\(port)\"}\n"
            try await DaemonUnderTest.running(config(sinks, more)) { daemon in
                let report = try await lab.traffic().run(rate: 20_000, duration: .seconds(1))
                try await eventually("all arrive") { sinks.arrivals == report.datagrams }
                let page = try Shell.output("curl -s http://127.0.0.1:\(port)/metrics")
                for name in ["received", "forwarded"] {
                    let line =
                        "udp_fanout_packets_\(name)_total{listener=\"in\",mode=\"tc_ebpf\"}"
                    #expect(page.contains("\(line) \(report.datagrams)\n"), "\(page)")
                }
                try await daemon.stop()
            }
        }
    }
}
