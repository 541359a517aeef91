// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// A listener on the status page.
struct StatusListener {
    let counters: ListenerCounters
    /// The active listener; its address and balance are shown.
    let place: Listener?
    let rates: Rates
    let history: [RateHistory.Point]
    /// The reasons of drops, in the order of the catalogue.
    let reasons: [(reason: DropReason, count: UInt64)]
    /// The receivers that are shown.
    let receivers: [ReceiverSnapshot]
    let receiverCount: Int
    let readyCount: Int

    /// - Parameter limit: how many receivers are shown: those without traffic first, then by their position in the
    ///   listener, so that the order is stable while numbers change.
    init(
        _ counters: ListenerCounters, in snapshot: DaemonSnapshot, place: Listener?,
        hasHistory: Bool, limit: Int
    ) {
        self.counters = counters
        self.place = place
        history = hasHistory ? snapshot.history.points(of: counters.listener) : []
        rates = snapshot.meter.rates(of: counters.listener)
        reasons = DropReason.allCases.compactMap { reason in
            counters.drops[reason].flatMap { $0 > 0 ? (reason, $0) : nil }
        }
        receiverCount = counters.downstreams.count
        readyCount = counters.downstreams.count(where: \.isReady)
        receivers = snapshot.receivers(
            Self.chosen(counters.downstreams, limit), of: counters.listener)
    }

    private static func chosen(_ all: [DownstreamCounters], _ limit: Int) -> [DownstreamCounters] {
        guard all.count > limit else { return all }
        let idle = Array(all.filter { !$0.isReady }.prefix(limit / 2))
        return idle + all.filter(\.isReady).prefix(limit - idle.count)
    }

    var omitted: Int { receiverCount - receivers.count }

    /// The reference of `shares`: the busiest receiver that is shown.
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
