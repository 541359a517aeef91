// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension TCPlaneTests {
    @Suite("finds leftovers of killed daemons")
    struct LeftoverTests {
        @Test(
            "and removes those of deleted interfaces, no others",
            arguments: [TCAttach.tcx, .clsact])
        func goneInterface(attach: TCAttach) async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                var stage = lab.stage(pins)
                stage.attach = attach
                let sinks = try stage.sinks(1)
                var listener = try stage.listener(to: sinks.downstreams())
                // A kill closes the descriptors of a process, nothing else.
                _ = try await stage.rig([listener])
                let left = pins.pins("udp-fanout")
                #expect(left.count == 1)
                for foreign in ["interface-77-net-1", "mine"] {
                    try Namespace.command("mkdir \(pins.path)/udp-fanout/\(foreign)")
                }
                try lab.balancer.ip("link delete lb0")
                try VethLab.connect(lab.balancer, "lb0", lab.client, "c0", subnet: 0)
                listener.settings.tcAttach = attach
                let rig = try await stage.rig([listener])
                await rig.plane.removeLeftovers()
                let now = pins.pins("udp-fanout")
                #expect(now.count == 3 && !now.contains(left[0]), "\(now)")
                #expect(now.contains("interface-77-net-1") && now.contains("mine"))
                let traffic = try stage.traffic(to: listener)
                try await eventually("it forwards") {
                    traffic.send([1])
                    return sinks[0].count > 0
                }
                await rig.stop()
            }
            #expect(pins.pins("udp-fanout") == ["interface-77-net-1", "mine"])
        }

        @Test("and keeps those of its own listeners while it cannot take them over")
        func own() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                let stage = lab.stage(pins)
                let sinks = try stage.sinks(1)
                let listener = try stage.listener(to: sinks.downstreams())
                let rig = try await stage.rig([listener])
                await rig.plane.relinquish()
                await rig.plane.removeLeftovers()
                try stage.traffic(to: listener).send([1])
                try await eventually("it forwards") { sinks[0].count == 1 }
                try await rig.plane.reclaim()
                await rig.stop()
            }
            #expect(pins.isEmpty)
        }

        @Test(
            "and removes those of interfaces without a listener",
            arguments: [TCAttach.tcx, .clsact])
        func unnamedInterface(attach: TCAttach) async throws {
            let (lab, pins, log) = (try VethLab(), try BPFFileSystem(), LogRecorder())
            try await lab.balancer.run {
                var stage = lab.stage(pins, logger: log.logger)
                stage.attach = attach
                let sinks = try stage.sinks(1)
                let before = try stage.listener(to: sinks.downstreams())
                _ = try await stage.rig([before])
                try stage.traffic(to: before).send([1])
                try await eventually("it forwards") { sinks[0].count == 1 }
                let left = pins.pins("udp-fanout")

                stage.interface = "out1"
                let rig = try await stage.rig([try stage.listener(to: sinks.downstreams())])
                await rig.plane.removeLeftovers()
                let now = pins.pins("udp-fanout")
                #expect(now.count == 1 && now != left, "\(now)")
                let said = log.lines("removed the program that an old daemon had left")
                #expect(said.map { $0.fields["interface"] } == ["lb0"])
                #expect(try Shell.output("tc filter show dev lb0 ingress") == "")
                #expect(try !Shell.output("tc qdisc show dev lb0").contains("clsact"))
                // The host's own socket receives on the address again.
                let own = try Sink(on: before.bind.address, port: before.bind.port)
                try stage.traffic(to: before).send([2])
                try await eventually("it receives") { own.count == 1 }
                #expect(sinks[0].count == 1)
                await rig.stop()
            }
            #expect(pins.isEmpty)
        }
    }
}
