// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet

extension Promise {
    static let departures: [Promise] = [
        Promise("a receiver that comes back goes on counting, and nothing is counted twice or lost")
        {
            stage in try await checkReturn(stage)
        },
        Promise("thousands of receivers that came and went leave one sum behind") { stage in
            try await checkChurn(stage)
        },
        Promise("a receiver that warms up has the share that it has by now") { stage in
            let sinks = try stage.sinks(2)
            var listener = try stage.listener(
                to: sinks.downstreams(), settings: ListenerSettings(workers: 1))
            listener.downstreams[1].warmth = 1
            let rig = try await stage.rig([listener])
            let traffic = try stage.traffic(to: listener)
            for _ in 0..<44 { traffic.send([1]) }
            var counters = try await rig.settled(at: 44)
            try claim(
                counters.downstreams.map(\.packetsForwarded), is: [40, 4], "with a tenth of 1")
            listener.downstreams[1].warmth = 10
            try await rig.apply([listener])
            for _ in 0..<40 { traffic.send([1]) }
            counters = try await rig.settled(at: 84)
            try claim(
                counters.downstreams.map(\.packetsForwarded), is: [60, 24], "with all of it")
            await rig.stop()
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
        var listener = try stage.listener(to: sinks.downstreams())
        let both = listener.downstreams
        let rig = try await stage.rig([listener])
        let traffic = try stage.traffic(to: listener)
        var sent: UInt64 = 0
        // Who is there, and how many datagrams who is there has been sent after ten more.
        let steps: [(present: [Int], forwarded: [UInt64], departed: UInt64)] = [
            ([0, 1], [5, 5], 0), ([0], [15], 5), ([1], [15], 15), ([0, 1], [20, 20], 0),
        ]
        for (round, step) in steps.enumerated() {
            listener.downstreams = step.present.map { both[$0] }
            // New sockets, or another program: the counts survive that as well.
            if round == 2 { listener.settings.maxPacketSize -= 1 }
            try await rig.apply([listener])
            for _ in 0..<10 { traffic.send([1]) }
            sent += 10
            let counters = try await rig.settled(at: sent)
            try claim(
                counters.downstreams.map(\.packetsForwarded), is: step.forwarded,
                "datagrams of \(step.present)")
            try claim(
                counters.departed.packetsForwarded, is: step.departed,
                "datagrams of those that are not there in round \(round)")
            try claimComplete(counters)
        }
        await rig.stop()
    }

    private static func checkChurn(_ stage: Stage) async throws {
        let sinks = try stage.sinks(1)
        let settings = ListenerSettings(maxDownstream: 256, workers: 1)
        var listener = try stage.listener(to: sinks.downstreams(), settings: settings)
        let lasting = listener.downstreams
        let rig = try await stage.rig([listener])
        let traffic = try stage.traffic(to: listener)
        var sent: UInt64 = 0
        for round in 0..<8 {
            // Nobody listens there; what is sent counts all the same.
            let others = (0..<250).map { number in
                Downstream(
                    name: "r\(round)-\(number)",
                    endpoint: Endpoint(
                        sinks[0].endpoint.address, port: UInt16(20_000 + 250 * round + number)))
            }
            listener.downstreams = lasting + others
            try await rig.apply([listener])
            // Who keeps the client's source has the client told of refusals, and a send that learns of one
            // sends nothing.
            for _ in 0..<251 where traffic.send([1]) { sent += 1 }
            let counters = try await rig.settled(at: sent)
            try claim(counters.downstreams.count, is: 251, "receivers with counters")
            try claimComplete(counters)
        }
        listener.downstreams = lasting
        try await rig.apply([listener])
        let counters = try await rig.counters()
        try claim(counters.downstreams.count, is: 1, "receivers with counters")
        try claimComplete(counters)
        await rig.stop()
    }
}
