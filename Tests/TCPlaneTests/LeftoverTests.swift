// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension TCPlaneTests {
    @Suite("finds what killed ones left")
    struct LeftoverTests {
        @Test(
            "and clears away that of interfaces which are no more, nobody else's",
            arguments: [TCAttach.tcx, .clsact])
        func goneInterface(attach: TCAttach) async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                var stage = lab.stage(pins)
                stage.attach = attach
                let sinks = try stage.sinks(1)
                var listener = try stage.listener(to: sinks.downstreams())
                // What a process leaves that is killed: its descriptors close, nothing else.
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
    }
}
