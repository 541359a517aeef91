// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet

extension Promise {
    static let departures: [Promise] = [
        Promise("a receiver that is added again keeps its exact counters") { stage in
            try await checkReturn(stage)
        },
        Promise("thousands of receivers that came and went leave one sum") { stage in
            try await checkChurn(stage)
        },
        Promise("a receiver in slow start has its current share") { stage in
            let sinks = try stage.sinks(2)
            var listener = try stage.listener(to: sinks.downstreams())
            listener.downstreams[1].warmth = 1
            var course = try await Course(stage, listener)
            var counters = try await course.send(44)
            try claim(
                counters.downstreams.map(\.packetsForwarded), is: [40, 4], "with a tenth of 1")
            course.listener.downstreams[1].warmth = 10
            counters = try await course.send(40)
            try claim(
                counters.downstreams.map(\.packetsForwarded), is: [60, 24], "with all of it")
            await course.rig.stop()
        },
    ]

    private static func claimComplete(_ counters: ListenerCounters) throws {
        let known = counters.downstreams.map(\.packetsForwarded).reduce(0, +)
        try claim(
            known + counters.departed.packetsForwarded, is: counters.packetsForwarded,
            "datagrams of all receivers, those that have left among them")
    }

    private static func checkReturn(_ stage: Stage) async throws {
        let sinks = try stage.sinks(2)
        var course = try await Course(stage, stage.listener(to: sinks.downstreams()))
        let both = course.listener.downstreams
        // The receivers of each step, and the total of each after ten more datagrams.
        let steps: [(present: [Int], forwarded: [UInt64], departed: UInt64)] = [
            ([0, 1], [5, 5], 0), ([0], [15], 5), ([1], [15], 15), ([0, 1], [20, 20], 0),
        ]
        for (round, step) in steps.enumerated() {
            course.listener.downstreams = step.present.map { both[$0] }
            // New sockets, or another program: the counters must survive that as well.
            if round == 2 { course.listener.settings.maxPacketSize -= 1 }
            let counters = try await course.send(10)
            try claim(
                counters.downstreams.map(\.packetsForwarded), is: step.forwarded,
                "datagrams of \(step.present)")
            try claim(
                counters.departed.packetsForwarded, is: step.departed,
                "datagrams of removed receivers in round \(round)")
            try claimComplete(counters)
        }
        await course.rig.stop()
    }

    private static func checkChurn(_ stage: Stage) async throws {
        let sinks = try stage.sinks(1)
        let settings = ListenerSettings(maxDownstream: 256, workers: 1)
        let listener = try stage.listener(to: sinks.downstreams(), settings: settings)
        // The listener's own port could be one of these, and would receive its own datagrams.
        let ports = (20_000 as UInt16..<22_002).filter {
            $0 != listener.bind.port && $0 != sinks[0].endpoint.port
        }
        var course = try await Course(stage, listener)
        for round in 0..<8 {
            // No socket listens there; the datagrams count as forwarded all the same.
            let others = ports[250 * round..<250 * (round + 1)].map { port in
                Downstream(
                    name: "r\(port)", endpoint: Endpoint(sinks[0].endpoint.address, port: port))
            }
            course.listener.downstreams = listener.downstreams + others
            let counters = try await course.send(251, refusals: 100)
            try claim(counters.downstreams.count, is: 251, "receivers with counters")
            try claimComplete(counters)
        }
        course.listener.downstreams = listener.downstreams
        try await course.apply()
        let counters = try await course.rig.counters()
        try claim(counters.downstreams.count, is: 1, "receivers with counters")
        try claimComplete(counters)
        await course.rig.stop()
    }
}
