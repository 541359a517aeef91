// SPDX-License-Identifier: Apache-2.0

import AFXDPPlane
import FanoutCore
import LabNet
import PlaneContract
import Testing
import Tiers
import XDPSockets

extension AFXDPPlaneTests {
    @Suite("accounts for", .tags(.load))
    struct AccountingTests {
        /// Every frame of every worker is in exactly one place, without violations.
        static func check(_ plane: any DataPlane) async throws {
            let plane = try #require(plane as? AFXDPPlane)
            let censuses = await plane.censuses()
            #expect(!censuses.isEmpty)
            for census in censuses { #expect(census.isExact, "\(census)") }
        }

        /// Datagrams lost before the plane: the interface or the queue's socket had no room for them.
        struct Losses: CustomStringConvertible {
            /// The veth's own ring of 256 packets was full: the sender counts it.
            var wire: UInt64 = 0
            /// The socket's receive ring was full.
            var ring: UInt64 = 0
            /// No frame was in the fill ring.
            var frames: UInt64 = 0

            var sum: UInt64 { wire + ring + frames }

            var description: String { "wire \(wire), ring \(ring), frames \(frames)" }

            init(in lab: VethLab, _ plane: any DataPlane) async throws {
                // proc_net_dev(5): the fourth sent value, after eight received values.
                let table = try lab.client.enter { try Shell.output("cat /proc/net/dev") }
                let line = try #require(
                    table.split(separator: "\n").first { $0.contains("c0:") })
                let numbers = line.split { $0 == " " || $0 == ":" }.dropFirst()
                wire = try #require(UInt64(numbers[numbers.startIndex + 11]))
                for queue in await plane.queueCounters() {
                    ring += queue.kernel[.receiveRingFull] ?? 0
                    frames += queue.kernel[.receiveDropped] ?? 0
                }
            }
        }

        @Test(
            "every datagram and every frame under load, while receivers change 20 times a second",
            arguments: [false, true])
        func underLoad(waits: Bool) async throws {
            let lab = try VethLab()
            // With a queue the sender waits while the veth's ring is full (Linux 6.16).
            if waits { try lab.client.command("tc qdisc replace dev c0 root pfifo limit 10000") }
            try await lab.balancer.run {
                let stage = try lab.stage()
                let sinks = try stage.sinks(3, keepsPayloads: false)
                var listener = try stage.listener(to: sinks.downstreams())
                let rig = try await stage.rig([listener])
                let sources = try (0..<8).map { try stage.traffic(to: listener, client: $0) }
                let load = try Load(sources, rate: 40_000)
                for round in 0..<60 {
                    let enough = load.sent + 2000
                    try await eventually("the load goes on") { load.sent >= enough }
                    let weights = [1, UInt16(round % 3), UInt16(round % 5)]
                    listener.downstreams = sinks.downstreams(weights: weights)
                    if round % 4 == 1 { listener.downstreams.removeLast() }
                    try await rig.apply([listener])
                    try await Self.check(rig.plane)
                }
                let sent = await load.stop().datagrams
                var losses = try await Losses(in: lab, rig.plane)
                var counters = try await rig.counters()
                try? await eventually("all are accounted for") {
                    losses = try await Losses(in: lab, rig.plane)
                    counters = try await rig.counters()
                    return counters.packetsReceived + losses.sum == sent
                }
                #expect(counters.packetsReceived + losses.sum == sent, "\(losses)")
                #expect(counters.packetsForwarded == counters.packetsReceived)
                try await eventually("what was forwarded arrives") {
                    sinks.map(\.arrivals).reduce(0, +) == counters.packetsForwarded
                }
                try await Self.check(rig.plane)
                await rig.stop()
            }
        }
    }
}
