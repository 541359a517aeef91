// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The numbers of the page, in the order in which the page has them. It is the script's alone: programs
/// have `/metrics` and the control socket.
extension StatusView {
    var json: String {
        let members = [
            "\"shape\":\"\(shape)\"",
            // The page's time runs on whatever the wall clock does.
            "\"at\":\(Self.milliseconds)",
            "\"uptime\":\"\(HumanText.span(snapshot.uptime))\"",
            "\"total\":[\(total.received),\(total.forwarded),\(total.dropped)]",
            "\"listeners\":[\(listeners.map(\.json).joined(separator: ","))]",
        ]
        return "{" + members.joined(separator: ",") + "}\n"
    }

    /// Points of a chart: time, received, forwarded and dropped a second. Free of characters that HTML knows.
    static func json(_ points: [RateHistory.Point]) -> String {
        let items = points.map { point in
            let rates = [point.received, point.forwarded, point.dropped].map(Self.rounded)
            return "[\(milliseconds(at: point.time)),\(rates.joined(separator: ","))]"
        }
        return "[\(items.joined(separator: ","))]"
    }

    private static func rounded(_ rate: Float) -> String {
        rate > 0 && rate < 10 ? "\((rate * 10).rounded() / 10)" : "\(UInt64(rate))"
    }

    private static var milliseconds: Int64 { milliseconds(at: .now) }

    private static func milliseconds(at time: ContinuousClock.Instant) -> Int64 {
        let passed = time - start
        return passed.components.seconds * 1000
            + passed.components.attoseconds / 1_000_000_000_000_000
    }

    private static let start = ContinuousClock.now
}

extension StatusListener {
    fileprivate var json: String {
        let drops = reasons.map { String($0.count) }.joined(separator: ",")
        let rows = receivers.map {
            "[\($0.counters.packetsForwarded),\($0.dropped),\($0.counters.refusals)]"
        }
        .joined(separator: ",")
        let totals = [
            counters.packetsReceived, counters.packetsForwarded, counters.packetsDropped,
            counters.bytesReceived, counters.kernelDrops,
        ].map { String($0) }.joined(separator: ",")
        return "{\"counts\":[\(totals)],\"drops\":[\(drops)],\"receivers\":[\(rows)]}"
    }
}
