// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import Logging

/// Warns once per listener of receivers that reply through a one-way listener. A value: it takes the counters from
/// time to time.
public struct ReplyWatch: Sendable {
    /// Listeners that have been warned about.
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

/// Warns once a minute per receiver of refused datagrams. A value: it takes the counters from time to time.
public struct RefusalWatch: Sendable {
    private struct Receiver: Hashable {
        let listener: String
        let endpoint: Endpoint
    }

    private struct Entry {
        /// Refusals that have been logged, or are about to be.
        var known: UInt64
        var lastLine: ContinuousClock.Instant?
    }

    private static let pause = Duration.seconds(60)
    private var entries: [Receiver: Entry] = [:]

    public init() {}

    public mutating func note(
        _ counters: [ListenerCounters], at time: ContinuousClock.Instant, _ logger: Logger
    ) {
        var next: [Receiver: Entry] = [:]
        for counts in counters {
            for downstream in counts.downstreams where downstream.refusals > 0 {
                let receiver = Receiver(listener: counts.listener, endpoint: downstream.endpoint)
                var entry = entries[receiver] ?? Entry(known: 0)
                // The counter of a receiver that left its listener and came back has restarted.
                if downstream.refusals < entry.known { entry.known = 0 }
                let isQuiet = entry.lastLine.map { time - $0 < Self.pause } ?? false
                if downstream.refusals > entry.known, !isQuiet {
                    warn(counts.listener, downstream, downstream.refusals - entry.known, logger)
                    entry = Entry(known: downstream.refusals, lastLine: time)
                }
                next[receiver] = entry
            }
        }
        entries = next
    }

    private func warn(
        _ listener: String, _ downstream: DownstreamCounters, _ count: UInt64, _ logger: Logger
    ) {
        logger.warning(
            "downstream refuses datagrams: nothing listens there, or a firewall rejects them",
            metadata: [
                "listener": "\(listener)", "downstream": "\(downstream.name)",
                "address": "\(downstream.endpoint)", "refusals": "\(count)",
                "remedy":
                    "start the receiver or correct its address; health.passive takes it out of service",
            ])
    }
}
