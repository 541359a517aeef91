// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet

extension Promise {
    public static let load: [Promise] = [
        Promise("each datagram arrives once, intact, in its flow's order") { stage in
            let sinks = try stage.sinks(3, keepsPayloads: false)
            let listener = try stage.listener(
                to: sinks.downstreams(),
                settings: ListenerSettings(workers: 1, receiveBufferBytes: Sink.bufferBytes))
            let rig = try await stage.rig([listener])
            let sources = try (0..<8).map { try stage.traffic(to: listener, client: $0) }
            let report = try await Load(
                sources, rate: 20_000, duration: .seconds(1), sizes: [64, 64, 1200, 300, 64]
            ).finish()
            try claim(report.errors, is: [:], "sends that failed")
            try await checkDelivery(of: report, rig, sinks)
            await rig.stop()
        },
        Promise("receivers that come, go and change weight under load cost no datagram") {
            stage in
            let sinks = try stage.sinks(4, keepsPayloads: false)
            var listener = try stage.listener(
                to: sinks.downstreams(),
                settings: ListenerSettings(workers: 2, receiveBufferBytes: Sink.bufferBytes))
            let rig = try await stage.rig([listener])
            let sources = try (0..<8).map { try stage.traffic(to: listener, client: $0) }
            let load = try Load(sources, rate: 20_000)
            for round in 0..<20 {
                let enough = load.sent + 400
                try await eventually("the load goes on") { load.sent >= enough }
                let weights = [1, UInt16(round % 3), UInt16(round % 5), 7]
                listener.downstreams = sinks.downstreams(weights: weights)
                if round % 4 == 1 { listener.downstreams.removeLast() }
                try await rig.apply([listener])
            }
            let report = await load.stop()
            try claim(report.refusals, is: 0, "refusals at the listener")
            try await checkDelivery(of: report, rig, sinks)
            await rig.stop()
        },
    ]

    private static func checkDelivery(
        of report: LoadReport, _ rig: Rig, _ sinks: [Sink]
    ) async throws {
        let counters = try await rig.settled(at: report.datagrams)
        try claim(counters.packetsForwarded, is: counters.packetsReceived, "forwarded")
        try await eventually("what was forwarded arrives") {
            sinks.map(\.arrivals).reduce(0, +) == counters.packetsForwarded
        }
        let delivery = Delivery(of: report, at: sinks)
        try claim(
            delivery.isExact(droppedAtListener: counters.kernelDrops), "\(delivery), \(counters)")
    }
}
