// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// A listener as the status page shows it.
struct StatusListener {
    let counters: ListenerCounters
    /// Where it listens and how it spreads, if it is in force.
    let place: Listener?
    let rates: Rates
    let history: [RateHistory.Point]
    /// The reasons that something was dropped for, the most frequent first as far as the page's order
    /// can stay: by the catalogue.
    let reasons: [(reason: DropReason, count: UInt64)]
    /// Those that are shown.
    let receivers: [StatusReceiver]
    let receiverCount: Int
    let readyCount: Int

    /// - Parameter limit: how many receivers are shown: those that get nothing first, then by their place
    ///   in the listener, so that the order stays while numbers change.
    init(
        _ counters: ListenerCounters, place: Listener?, meter: RateMeter,
        history: [RateHistory.Point], healthStatuses: [Endpoint: Bool], drains: DrainList,
        outOfReach: Set<String>, refusing: Set<String>, limit: Int
    ) {
        self.counters = counters
        self.place = place
        self.history = history
        rates = meter.rates(of: counters.listener)
        reasons = DropReason.allCases.compactMap { reason in
            counters.drops[reason].flatMap { $0 > 0 ? (reason, $0) : nil }
        }
        receiverCount = counters.downstreams.count
        readyCount = counters.downstreams.count(where: \.isReady)
        let rates = meter.receiverRates(of: counters.listener)
        receivers = Self.chosen(counters.downstreams, limit).map { downstream in
            let entry = DrainList.Entry(listener: counters.listener, downstream: downstream.name)
            return StatusReceiver(
                counters: downstream,
                state: ReceiverState(
                    weight: downstream.weight, isReady: downstream.isReady,
                    isDrained: drains.entries.contains(entry),
                    isWithinReach: !outOfReach.contains(downstream.name)),
                isHealthy: healthStatuses[downstream.endpoint],
                isRefusing: refusing.contains(downstream.name),
                rate: rates[downstream.endpoint]?.packetsForwarded ?? 0)
        }
    }

    private static func chosen(_ all: [DownstreamCounters], _ limit: Int) -> [DownstreamCounters] {
        guard all.count > limit else { return all }
        let idle = Array(all.filter { !$0.isReady }.prefix(limit / 2))
        return idle + all.filter(\.isReady).prefix(limit - idle.count)
    }

    var omitted: Int { receiverCount - receivers.count }

    /// What `shares` are relative to: the busiest receiver that is shown.
    var mostForwarded: UInt64 { receivers.map(\.counters.packetsForwarded).max() ?? 0 }

    func hashShape(into hasher: inout Hasher) {
        hasher.combine(counters.listener)
        hasher.combine(counters.mode)
        hasher.combine(place)
        hasher.combine(readyCount)
        hasher.combine(receiverCount)
        for entry in reasons { hasher.combine(entry.reason) }
        for receiver in receivers {
            hasher.combine(receiver.counters.name)
            hasher.combine(receiver.counters.endpoint)
            hasher.combine(receiver.counters.weight)
            hasher.combine(receiver.state)
            hasher.combine(receiver.isHealthy)
            hasher.combine(receiver.isRefusing)
        }
    }
}

/// A receiver as the status page shows it.
struct StatusReceiver {
    let counters: DownstreamCounters
    let state: ReceiverState
    /// By its probes; nil when it is not probed.
    let isHealthy: Bool?
    /// Whether it refuses datagrams at present.
    let isRefusing: Bool
    /// Datagrams forwarded to it a second.
    let rate: Double

    var dropped: UInt64 { counters.drops.values.reduce(0, +) }
}
