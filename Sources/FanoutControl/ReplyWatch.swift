// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import Logging

/// Warns of receivers that reply through a listener which forwards one way, once for each listener. A value: it takes
/// the counters from time to time.
public struct ReplyWatch: Sendable {
    /// Listeners that have been warned of.
    private var known: Set<String> = []

    public init() {}

    public mutating func note(_ counters: [ListenerCounters], _ logger: Logger) {
        known.formIntersection(counters.map(\.listener))
        for counts in counters where counts.repliesDropped ?? 0 > 0 {
            guard known.insert(counts.listener).inserted else { continue }
            let receivers = counts.downstreams.filter { $0.repliesDropped > 0 }.map(\.name)
            logger.warning(
                "receivers answer; this listener is one-way: their replies are dropped",
                metadata: [
                    "listener": "\(counts.listener)",
                    "receivers": "\(receivers.prefix(3).joined(separator: ","))",
                    "remedy":
                        """
                    choose mode: xdp_nat, which carries replies; or have the receivers send none
                    """,
                ])
        }
    }
}
