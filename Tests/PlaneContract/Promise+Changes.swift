// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet

extension Promise {
    static let changes: [Promise] = [
        Promise("without a receiver, datagrams are counted as no_healthy") {
            stage in try await checkNobodyReady(stage)
        },
        Promise("a removed downstream receives nothing after apply returns") { stage in
            try await checkRemovedDownstream(stage)
        },
        Promise("a disabled downstream receives nothing and keeps its counters") { stage in
            try await checkDisabledDownstream(stage)
        },
        Promise("a listener that is removed stops forwarding, and the others continue") { stage in
            let sinks = try stage.sinks(2)
            let gone = try stage.listener("gone", to: [sinks[0]].downstreams())
            let stays = try stage.listener("stays", to: [sinks[1]].downstreams())
            let rig = try await stage.rig([gone, stays])
            let (first, second) = (try stage.traffic(to: gone), try stage.traffic(to: stays))
            _ = (first.send([1]), second.send([2]))
            try await rig.settled("gone", at: 1)
            try await rig.settled("stays", at: 1)
            try await rig.apply([stays])
            _ = (first.send([1]), second.send([2]))
            try await rig.settled("stays", at: 2)
            try await eventually("the listener that stays forwards") { sinks[1].count == 2 }
            try claim(sinks[0].count, is: 1, "datagrams behind the removed listener")
            let names = await rig.plane.counters().map(\.listener)
            try claim(names, is: ["stays"], "listeners with counters")
            await rig.stop()
        },
        Promise("counters outlive a change of the listener's sockets") { stage in
            let sinks = try stage.sinks(2)
            var course = try await Course(stage, stage.listener(to: sinks.downstreams()))
            _ = try await course.send(10, [1, 2, 3])
            course.listener.settings.batchSize = 8
            let counters = try await course.send(10, [1, 2, 3])
            try claim(counters.bytesForwarded, is: 60, "bytes forwarded")
            try claim(
                counters.downstreams.map(\.packetsForwarded), is: [10, 10],
                "datagrams of each receiver")
            await course.rig.stop()
        },
        Promise("counters are sorted by listener, and stop returns the last ones") { stage in
            let sinks = try stage.sinks(1)
            let listeners = try ["b", "c", "a"].map {
                try stage.listener($0, to: sinks.downstreams())
            }
            let rig = try await stage.rig(listeners)
            try stage.traffic(to: listeners[0]).send([1])
            try await rig.settled("b", at: 1)
            let names = await rig.plane.counters().map(\.listener)
            try claim(names, is: ["a", "b", "c"], "listeners")
            let last = await rig.stop()
            try claim(last.map(\.packetsForwarded), is: [0, 1, 0], "the last counts")
            let after = await rig.plane.counters()
            try claim(after, is: [], "counters after the stop")
        },
    ]

    private static func checkNobodyReady(_ stage: Stage) async throws {
        let sinks = try stage.sinks(1)
        var course = try await Course(
            stage, stage.listener(to: sinks.downstreams(weights: [0])))
        var counters = try await course.send(5)
        try claim(counters.drops[.noHealthy], is: 5, "no_healthy with all weights 0")
        course.listener.downstreams = []
        counters = try await course.send(5)
        try claim(counters.drops[.noHealthy], is: 10, "no_healthy without a downstream")
        course.listener.downstreams = sinks.downstreams()
        counters = try await course.send(5)
        try claim(counters.drops[.noHealthy], is: 10, "no_healthy with one that is ready")
        try await eventually("its datagrams arrive") { sinks[0].count == 5 }
        await course.rig.stop()
    }

    private static func checkDisabledDownstream(_ stage: Stage) async throws {
        let sinks = try stage.sinks(2)
        var course = try await Course(stage, stage.listener(to: sinks.downstreams()))
        // Both, the first, none, both; and the total of each after ten more datagrams.
        let steps: [(enabled: [Bool], forwarded: [UInt64])] = [
            ([true, true], [5, 5]), ([true, false], [15, 5]), ([false, false], [15, 5]),
            ([true, true], [20, 10]),
        ]
        for step in steps {
            for (index, isEnabled) in step.enabled.enumerated() {
                course.listener.downstreams[index].isEnabled = isEnabled
            }
            let counters = try await course.send(10)
            try claim(
                counters.downstreams.map(\.packetsForwarded), is: step.forwarded,
                "datagrams for each with \(step.enabled) enabled")
            try claim(
                counters.downstreams.map(\.isReady), is: step.enabled, "ready receivers")
        }
        course.listener.downstreams[1].isOnStandby = true
        let counters = try await course.send(10)
        try claim(
            counters.downstreams.map(\.packetsForwarded), is: [30, 10],
            "datagrams for each with the second on standby")
        try claim(counters.drops.filter { $0.value > 0 }, is: [.noHealthy: 10], "drops")
        try await eventually("all arrive") { sinks.map(\.count) == [30, 10] }
        await course.rig.stop()
    }

    private static func checkRemovedDownstream(_ stage: Stage) async throws {
        let sinks = try stage.sinks(3, keepsPayloads: false)
        var listener = try stage.listener(
            to: sinks.downstreams(),
            settings: ListenerSettings(workers: 1, receiveBufferBytes: Sink.bufferBytes))
        let rig = try await stage.rig([listener])
        let load = try Load([stage.traffic(to: listener)], rate: 5000)
        try await eventually("all receive") { sinks.counts.allSatisfy { $0 > 100 } }
        listener.downstreams.removeLast()
        try await rig.apply([listener])
        // Datagrams sent before apply returned may still wait for the sink's reader.
        let marker = try stage.makeDirect(sinks[2].endpoint)
        let before = sinks[2].count
        marker.send([])
        try await eventually("the sink has read what came before") { sinks[2].count > before }
        let atRemoval = sinks[2].count
        let seen = sinks[0].count
        try await eventually("the others go on") { sinks[0].count > seen + 1000 }
        try claim(sinks[2].count, is: atRemoval, "datagrams of the removed one")
        let report = await load.stop()
        let counters = try await rig.settled(at: report.datagrams)
        try await eventually("all arrive, and the marker") {
            sinks.map(\.arrivals).reduce(0, +) == counters.packetsForwarded + 1
        }
        await rig.stop()
    }
}
