// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import FanoutCore
import Foundation
import KernelPrograms
import LabNet
import PlaneContract
import TCPlane
import Testing

extension TCPlaneTests {
    @Suite("at the hook")
    struct HookTests {
        /// What `tc` shows of the balancer's interface towards the client, and what is pinned.
        private func state(_ lab: VethLab, _ pins: BPFFileSystem) throws -> [String] {
            let lines = try lab.balancer.enter {
                try ["tc qdisc show dev lb0", "tc filter show dev lb0 ingress"].map {
                    try Shell.output($0)
                }
            }
            return lines + pins.pins("udp-fanout")
        }

        @Test("stop detaches and unpins everything", arguments: TCAttach.here)
        func nothingLeft(attach: TCAttach) async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            let before = try state(lab, pins)
            try await lab.balancer.run {
                var stage = lab.stage(pins)
                stage.attach = attach
                let listener = try stage.listener(to: stage.sinks(1).downstreams())
                let rig = try await stage.rig([listener])
                #expect(try state(lab, pins) != before)
                await rig.stop()
            }
            #expect(try state(lab, pins) == before)
            #expect(pins.isEmpty)
        }

        @Test("clsact shows the filter as udp_fanout")
        func filterName() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                var stage = lab.stage(pins)
                stage.attach = .clsact
                let rig = try await stage.rig([stage.listener(to: [])])
                let shown = try Shell.output("tc filter show dev lb0 ingress")
                #expect(shown.contains("udp_fanout:["), "\(shown)")
                await rig.stop()
            }
        }

        @Test(
            "a start takes over from a killed daemon without a loss",
            arguments: [
                [TCAttach.tcx, .tcx], [.clsact, .clsact], [.tcx, .clsact], [.clsact, .tcx],
            ].filter { $0.allSatisfy(TCAttach.here.contains) })
        func adoption(kinds: [TCAttach]) async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                var stage = lab.stage(pins)
                let sinks = try stage.sinks(3, keepsPayloads: false)
                stage.attach = kinds[0]
                var listener = try stage.listener(to: sinks.downstreams())
                var rig: Rig? = try await stage.rig([listener])
                let load = try Load([stage.traffic(to: listener)], rate: 20_000)
                for round in 1...5 {
                    let enough = load.sent + 1000
                    try await eventually("the load goes on") { load.sent >= enough }
                    // A kill closes the descriptors of a process, nothing else.
                    rig = nil
                    let alone = load.sent + 1000
                    try await eventually("the load goes on alone") { load.sent >= alone }
                    listener.settings.tcAttach = kinds[round % 2]
                    rig = try await stage.rig([listener])
                }
                let report = await load.stop()
                try await eventually("all arrive") {
                    sinks.map(\.arrivals).reduce(0, +) == report.datagrams
                }
                let delivery = Delivery(of: report, at: sinks)
                #expect(delivery.isExact(), "\(delivery)")
                await rig?.stop()
            }
            #expect(pins.isEmpty)
        }

        @Test("a second daemon on an interface is refused, and the first continues")
        func doubleStart() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                let stage = lab.stage(pins)
                let sinks = try stage.sinks(1)
                let listener = try stage.listener(to: sinks.downstreams())
                let rig = try await stage.rig([listener])
                let error = try await #require(throws: PlaneError.self) {
                    _ = try await stage.rig([listener])
                }
                #expect(error.reason == "another process holds it")
                try stage.traffic(to: listener).send([1])
                try await eventually("the first forwards") { sinks[0].count == 1 }
                await rig.stop()
            }
        }

        @Test("a search for stale pins does not block a start")
        func startBesideSweep() async throws {
            let pins = try BPFFileSystem()
            let path = pins.path
            let sweeps = Task.detached {
                while !Task.isCancelled { PinFolder.removeStale(root: path) { _ in true } }
            }
            var held = 0
            do {
                defer { sweeps.cancel() }
                for _ in 0..<2000 {
                    let folder = try PinFolder(root: path, name: "mine")
                    // The folder is in use, so it is not removed.
                    folder.setMark("here", true)
                    if folder.hasMark("here") { held += 1 }
                    folder.setMark("here", false)
                    folder.removeIfEmpty()
                }
            }
            await sweeps.value
            #expect(held == 2000)
        }

        @Test("another tool's filter stays, and so does its clsact")
        func othersFilter() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try lab.balancer.command("tc qdisc add dev lb0 clsact")
            try lab.balancer.command(
                "tc filter add dev lb0 ingress prio 5 protocol arp u32 match u32 0 0 flowid 1:1")
            let before = try state(lab, pins)
            try await lab.balancer.run {
                var stage = lab.stage(pins)
                stage.attach = .clsact
                let sinks = try stage.sinks(1)
                let listener = try stage.listener(to: sinks.downstreams())
                let rig = try await stage.rig([listener])
                try stage.traffic(to: listener).send([1])
                try await eventually("ours forwards beside it") { sinks[0].count == 1 }
                await rig.stop()
            }
            #expect(try state(lab, pins) == before)
        }

        @Test(
            "other packets continue to the programs after ours",
            arguments: TCAttach.here)
        func behindOurs(attach: TCAttach) async throws {
            // The other tool is a second plane that does not know the first.
            let (lab, pins, others) = (
                try VethLab(), try BPFFileSystem(), try BPFFileSystem()
            )
            try await lab.balancer.run {
                let stage = lab.stage(pins)
                var other = lab.stage(others)
                other.attach = attach
                let sinks = try stage.sinks(2)
                let ours = try stage.listener("ours", to: [sinks[0]].downstreams())
                let theirs = try other.listener("theirs", to: [sinks[1]].downstreams())
                let rig = try await stage.rig([ours])
                let second = try await other.rig([theirs])
                try stage.traffic(to: theirs).send([1])
                try stage.traffic(to: ours).send([2])
                try await second.settled("theirs", at: 1)
                try await rig.settled("ours", at: 1)
                try await eventually("each has its own") { sinks.counts == [1, 1] }
                await second.stop()
                try stage.traffic(to: ours).send([3])
                try await eventually("ours goes on") { sinks.counts == [2, 1] }
                await rig.stop()
            }
        }

        @Test("a filter that another tool adds to our clsact keeps it")
        func othersOnOurs() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                var stage = lab.stage(pins)
                stage.attach = .clsact
                let rig = try await stage.rig([stage.listener(to: [])])
                try Namespace.command(
                    "tc filter add dev lb0 egress prio 5 protocol ip u32 match u32 0 0 flowid 1:1")
                await rig.stop()
                #expect(try Shell.output("tc filter show dev lb0 egress").contains("u32"))
                #expect(try Shell.output("tc filter show dev lb0 ingress") == "")
            }
        }

        /// Our object with another program name.
        private func otherTool() throws -> [UInt8] {
            let (ours, other) = (Array("udp_fanout\0".utf8), Array("other_tool\0".utf8))
            var object = try #require(EmbeddedObject.tcFanout.bytes)
            for start in object.indices where object[start...].starts(with: ours) {
                object.replaceSubrange(start..<start + ours.count, with: other)
            }
            return object
        }

        @Test("another tool's filter in our place is named in the error, and stays")
        func othersInOurPlace() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                let lines = try Shell.output("ip -o link show lb0")
                let index = try #require(UInt32(lines.prefix { $0 != ":" }))
                let filter = ClsactFilter(interface: index)
                var other = try BPFObject(opening: otherTool(), name: "other")
                try other.load()
                _ = try filter.makeDiscipline()
                try filter.put(HookProgram(other.program(named: "other_tool")))
                let before = try state(lab, pins)
                var stage = lab.stage(pins)
                stage.attach = .clsact
                let listener = try stage.listener(to: [])
                let error = try await #require(throws: PlaneError.self) {
                    _ = try await stage.rig([listener])
                }
                #expect(
                    error.reason.contains("the program other_tool of another tool"), "\(error)")
                #expect(error.remedy.contains("tc_attach: tcx"))
                #expect(try state(lab, pins) == before)
            }
        }

        @Test("the error for a missing interface lists the existing ones")
        func noInterface() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                var stage = lab.stage(pins)
                stage.interface = "lb7"
                let error = try await #require(throws: PlaneError.self) {
                    _ = try await stage.rig([stage.listener(to: [])])
                }
                #expect(error.subject == "listener in to interface lb7")
                #expect(error.remedy.contains("lb0, out0, out1, out2"), "\(error)")
            }
            #expect(pins.isEmpty)
        }

        @Test("without privileges the error names the capabilities")
        func noPrivileges() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                let stage = lab.stage(pins)
                let listener = try stage.listener(to: [])
                let error = try await #require(throws: PlaneError.self) {
                    try await Privilege.without {
                        var listener = listener
                        // The thread without capabilities is in the namespace of the tests.
                        listener.interface = "lo"
                        _ = try await stage.rig([listener])
                    }
                }
                for name in ["CAP_BPF", "CAP_NET_ADMIN", "CAP_PERFMON"] {
                    #expect(error.remedy.contains(name), "\(error)")
                }
            }
        }
    }
}
