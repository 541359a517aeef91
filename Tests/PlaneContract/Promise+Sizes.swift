// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet

extension Promise {
    static let sizes: [Promise] = [
        Promise("an empty datagram, one byte and the longest allowed arrive unchanged") {
            stage in try await checkSizes(stage, .v4, maximum: 1400)
        },
        Promise("the same over IPv6") { stage in
            try await checkSizes(stage, .v6, maximum: 1400)
        },
        Promise("a datagram above max_packet_size is counted as oversize and not forwarded") {
            stage in
            let sinks = try stage.sinks(1)
            let listener = try stage.listener(
                to: sinks.downstreams(), settings: ListenerSettings(maxPacketSize: 100, workers: 1))
            let rig = try await stage.rig([listener])
            let traffic = try stage.traffic(to: listener)
            for size in [101, 100, 1400] {
                try claim(traffic.send(Array(repeating: 7, count: size)), "a send failed")
            }
            let counters = try await rig.settled(at: 3)
            try await eventually("the datagram of 100 bytes arrives") { sinks[0].count == 1 }
            try claim(sinks[0].datagrams.map(\.payload.count), is: [100], "sizes that arrived")
            try claim(counters.drops[.oversize], is: 2, "oversize")
            try claim(counters.bytesReceived, is: 1601, "bytes received")
            try claim(counters.bytesForwarded, is: 100, "bytes forwarded")
            await rig.stop()
        },
    ]

    private static func checkSizes(
        _ stage: Stage, _ family: IPAddress.Family, maximum: Int
    ) async throws {
        let sinks = try stage.sinks(1, family)
        let listener = try stage.listener(
            to: sinks.downstreams(), family: family,
            settings: ListenerSettings(maxPacketSize: maximum, workers: 1))
        let rig = try await stage.rig([listener])
        let traffic = try stage.traffic(to: listener)
        let payloads = [0, 1, 2, 3, 63, 0, 64, 65, 1023, 0, maximum - 1, maximum, 8].map { size in
            (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) }
        }
        for payload in payloads { try claim(traffic.send(payload), "a send failed") }
        try await eventually("\(payloads.count) datagrams arrive") {
            sinks[0].count == UInt64(payloads.count)
        }
        try claim(sinks[0].datagrams.map(\.payload), is: payloads, "payloads in order")
        let counters = try await rig.settled(at: UInt64(payloads.count))
        let bytes = UInt64(payloads.map(\.count).reduce(0, +))
        try claim(counters.bytesReceived, is: bytes, "bytes received")
        try claim(counters.bytesForwarded, is: bytes, "bytes forwarded")
        try claim(counters.packetsForwarded, is: UInt64(payloads.count), "packets forwarded")
        if stage.keepsSource {
            let sources = Set(sinks[0].datagrams.map(\.source))
            try claim(sources, is: [traffic.source], "sources that the receiver saw")
        }
        await rig.stop()
    }
}
