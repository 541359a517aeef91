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

    private static var milliseconds: Int64 {
        let passed = ContinuousClock.now - start
        return passed.components.seconds * 1000
            + passed.components.attoseconds / 1_000_000_000_000_000
    }

    private static let start = ContinuousClock.now
}

extension StatusListener {
    fileprivate var json: String {
        let drops = reasons.map { String($0.count) }.joined(separator: ",")
        let rows = receivers.map { "[\($0.counters.packetsForwarded),\($0.dropped)]" }
            .joined(separator: ",")
        let totals = [
            counters.packetsReceived, counters.packetsForwarded, counters.packetsDropped,
            counters.bytesReceived, counters.kernelDrops,
        ].map { String($0) }.joined(separator: ",")
        return "{\"counts\":[\(totals)],\"drops\":[\(drops)],\"receivers\":[\(rows)]}"
    }
}
