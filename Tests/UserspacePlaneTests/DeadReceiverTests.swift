// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing
import Tiers

extension UserspacePlaneTests {
    @Suite("with a dead receiver", .tags(.load))
    struct DeadReceiverTests {
        @Test("loses nothing for the live receivers, and counts drops only for the dead one")
        func deadAmongThree() async throws {
            let stage = Stage.userspace
            let live = try stage.sinks(2, keepsPayloads: false)
            let dead = try Endpoint.free()
            let downstreams =
                live.downstreams() + [Downstream(name: "dead", endpoint: dead, weight: 1)]
            let listener = try stage.listener(to: downstreams, settings: .roomy())
            let rig = try await stage.rig([listener])
            let traffic = try stage.traffic(to: listener)
            let report = try await Load(
                [traffic], rate: 20_000, total: 60_000, sizes: [64, 64, 300]
            ).finish()
            let counters = try await rig.settled(at: report.datagrams)
            #expect(counters.kernelDrops == 0)
            let each = report.datagrams / 3
            for (sink, counts) in zip(live, counters.downstreams) {
                #expect(counts.packetsForwarded == each)
                #expect(counts.refusals == 0)
                #expect(counts.drops.values.allSatisfy { $0 == 0 })
                try await eventually("its datagrams arrive") { sink.arrivals == each }
            }
            let charged = counters.downstreams[2]
            #expect(charged.refusals > 0)
            #expect(charged.packetsForwarded + charged.drops.values.reduce(0, +) == each)
            #expect(counters.packetsDropped == charged.drops.values.reduce(0, +))

            // It is restarted.
            let revived = try Sink(on: dead.address, port: dead.port)
            for number in 0..<30 { traffic.send([UInt8(number)]) }
            try await eventually("the receiver that is back gets its share") {
                revived.count == 10
            }
            try await rig.settled(at: report.datagrams + 30)
            await rig.stop()
        }

        @Test("sends the current datagram when the refusal concerned an earlier one")
        func datagramInHand() async throws {
            let stage = Stage.userspace
            let address = try Endpoint.free()
            let listener = try stage.listener(
                to: [Downstream(name: "a", endpoint: address, weight: 1)])
            let rig = try await stage.rig([listener])
            let traffic = try stage.traffic(to: listener)
            traffic.send([1])
            try await rig.settled(at: 1)
            let sink = try Sink(on: address.address, port: address.port)
            traffic.send([2])
            try await eventually("the datagram after the refusal arrives") {
                sink.datagrams.map(\.payload) == [[2]]
            }
            let counters = try await rig.settled(at: 2)
            #expect(counters.downstreams[0].refusals == 1)
            #expect(counters.packetsForwarded == 2)
        }

        @Test(
            "does the same for super-packets and with preserve_source",
            .enabled(if: Privilege.isRoot, "needs root"))
        func preservingAndSuperPackets() async throws {
            let stage = Stage.preserving
            let live = try stage.sinks(1, keepsPayloads: false)
            let dead = try Endpoint.free()
            let listener = try stage.listener(
                to: live.downstreams() + [Downstream(name: "dead", endpoint: dead, weight: 1)],
                settings: .roomy())
            let rig = try await stage.rig([listener])
            let report = try await Load(
                [stage.traffic(to: listener)], rate: 20_000, total: 10_000, segments: 10
            ).finish()
            let counters = try await rig.settled(at: report.datagrams)
            #expect(counters.downstreams[0].packetsForwarded == report.datagrams / 2)
            try await eventually("its datagrams arrive") {
                live[0].arrivals == report.datagrams / 2
            }
        }
    }
}
