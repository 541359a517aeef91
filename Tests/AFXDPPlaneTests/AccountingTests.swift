// SPDX-License-Identifier: Apache-2.0

import AFXDPPlane
import FanoutCore
import LabNet
import PlaneContract
import Testing
import XDPSockets

extension AFXDPPlaneTests {
    @Suite("accounts for")
    struct AccountingTests {
        /// Every frame of every worker is in one place, and the moves made sense.
        static func check(_ plane: any DataPlane) async throws {
            let plane = try #require(plane as? AFXDPPlane)
            let censuses = await plane.censuses()
            #expect(!censuses.isEmpty)
            for census in censuses { #expect(census.isExact, "\(census)") }
        }

        @Test("every datagram and every frame under load, while receivers change 20 times a second")
        func underLoad() async throws {
            let lab = try VethLab()
            try await lab.balancer.run {
                let stage = try lab.stage()
                let sinks = try stage.sinks(3, keepsPayloads: false)
                var listener = try stage.listener(to: sinks.downstreams())
                let rig = try await stage.rig([listener])
                let sources = try (0..<8).map { try stage.traffic(to: listener, client: $0) }
                let load = try Load(sources, rate: 20_000)
                for round in 0..<40 {
                    let enough = load.sent + 1000
                    try await eventually("the load goes on") { load.sent >= enough }
                    let weights = [1, UInt16(round % 3), UInt16(round % 5)]
                    listener.downstreams = sinks.downstreams(weights: weights)
                    if round % 4 == 1 { listener.downstreams.removeLast() }
                    try await rig.apply([listener])
                    try await Self.check(rig.plane)
                }
                let report = await load.stop()
                let counters = try await rig.settled(at: report.datagrams)
                #expect(counters.packetsForwarded == report.datagrams)
                try await eventually("all arrive") {
                    sinks.map(\.arrivals).reduce(0, +) == report.datagrams
                }
                try await Self.check(rig.plane)
                await rig.stop()
            }
        }
    }
}
