// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing
import Tiers

extension TCPlaneTests {
    @Suite("while its tables change", .tags(.load))
    struct ChangeTests {
        @Test("20 changes a second at 50 000 datagrams a second lose none and misdirect none")
        func churn() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                let stage = lab.stage(pins)
                let sinks = try lab.timingSinks(4)
                let receivers = Array(sinks[..<3])
                var listener = try stage.listener("in", .sourceIP, to: receivers.downstreams())
                let rig = try await stage.rig([listener])
                var tables = ActiveTables(listener)
                let sources = try (0..<64).map { try stage.traffic(to: listener, client: $0) }
                let load = try Load(sources, rate: 50_000, keepsTimes: true)
                for round in 0..<60 {
                    // 2500 datagrams are a twentieth of a second.
                    let enough = load.sent + 2500
                    try await eventually("the load goes on") { load.sent >= enough }
                    let weights = [1, UInt16(1 + round % 3), UInt16(round % 2)]
                    listener.downstreams = receivers.downstreams(weights: weights)
                    if round % 4 == 1 { listener.downstreams.removeLast() }
                    let begun = ContinuousClock.now
                    try await rig.apply([listener])
                    tables.follow(listener, begun: begun)
                }
                let report = await load.stop()
                let counters = try await rig.settled(at: report.datagrams)
                #expect(counters.packetsForwarded == report.datagrams)
                try await eventually("all arrive") {
                    sinks.map(\.arrivals).reduce(0, +) == report.datagrams
                }
                let delivery = Delivery(of: report, at: sinks)
                #expect(delivery.lost == 0 && delivery.duplicates == 0, "\(delivery)")
                #expect(delivery.damaged == 0)
                #expect(sinks[3].arrivals == 0)
                let verdict = tables.judge(report, of: sources.map(\.source.address), at: sinks)
                #expect(verdict.misdirected == 0, "\(verdict)")
                // Otherwise the test would pass with any table.
                #expect(verdict.moved > 16 && verdict.decided > 10_000, "\(verdict)")
                await rig.stop()
            }
        }

        @Test("more receivers than the maps hold load a new program, without a loss")
        func growth() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                let stage = lab.stage(pins)
                let sinks = try stage.sinks(3, keepsPayloads: false)
                var listener = try stage.listener(to: sinks.downstreams())
                listener.settings.maxDownstream = 4
                let rig = try await stage.rig([listener])
                let load = try Load([stage.traffic(to: listener)], rate: 20_000)
                for size in [8, 300, 1024, 2] {
                    let enough = load.sent + 1000
                    try await eventually("the load goes on") { load.sent >= enough }
                    listener.settings.maxDownstream = size
                    try await rig.apply([listener])
                }
                let report = await load.stop()
                let counters = try await rig.settled(at: report.datagrams)
                #expect(counters.packetsForwarded == report.datagrams)
                #expect(
                    counters.downstreams.map(\.packetsForwarded).reduce(0, +) == report.datagrams)
                try await eventually("all arrive") {
                    sinks.map(\.arrivals).reduce(0, +) == report.datagrams
                }
                await rig.stop()
            }
        }

        @Test("a listener whose hook fails changes nothing for the others")
        func refusal() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                let stage = lab.stage(pins)
                let sinks = try stage.sinks(1)
                let first = try stage.listener("first", to: sinks.downstreams())
                let rig = try await stage.rig([first])
                var second = try stage.listener("second", to: sinks.downstreams())
                second.settings.tcAttach = .clsact
                var third = try stage.listener("third", to: sinks.downstreams())
                third.settings.tcAttach = .tcx
                await #expect(throws: PlaneError.self) {
                    try await rig.apply([first, second, third])
                }
                try stage.traffic(to: first).send([1])
                try await rig.settled("first", at: 1)
                try await eventually("it forwards") { sinks[0].count == 1 }
                #expect(await rig.plane.counters().map(\.listener) == ["first"])
                await rig.stop()
            }
        }
    }
}
