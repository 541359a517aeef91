// SPDX-License-Identifier: Apache-2.0

/// What a listener or a receiver does per second, averaged over the last seconds.
public struct Rates: Equatable, Sendable {
    /// 0 for a receiver: it receives nothing from the network.
    public var packetsReceived = 0.0
    public var bytesReceived = 0.0
    public var packetsForwarded = 0.0
    public var bytesForwarded = 0.0
    public var packetsDropped = 0.0
    /// For receivers only.
    public var refusals = 0.0

    public init() {}
}

/// Computes rates from counters that are noted from time to time.
public struct RateMeter: Equatable, Sendable {
    private struct Sample: Equatable, Sendable {
        let time: ContinuousClock.Instant
        let listeners: [String: ListenerCounters]
    }

    private var samples: [Sample] = []
    private let window: Duration

    /// - Parameter window: the time over which rates are averaged.
    public init(window: Duration = .seconds(5)) { self.window = window }

    /// Takes the counters of every listener at `time`, which increases from call to call.
    public mutating func note(_ counters: [ListenerCounters], at time: ContinuousClock.Instant) {
        // A listener that moves from one mode to another is listed twice.
        let byName = Dictionary(counters.map { ($0.listener, $0) }) { $1 }
        samples.append(Sample(time: time, listeners: byName))
        // Keeps one sample that is older than the window, so that the samples cover all of it.
        while samples.count > 2, samples[1].time <= time - window { samples.removeFirst() }
    }

    /// The time between the samples that rates are computed from; zero if there are none yet.
    public var span: Duration {
        guard let first = samples.first, let last = samples.last else { return .zero }
        return last.time - first.time
    }

    /// The rates of a listener; all 0 until it has been noted twice.
    public func rates(of listener: String) -> Rates {
        var rates = Rates()
        guard let (old, new, seconds) = ends(of: listener) else { return rates }
        rates.packetsReceived = Self.rate(old.packetsReceived, new.packetsReceived, seconds)
        rates.bytesReceived = Self.rate(old.bytesReceived, new.bytesReceived, seconds)
        rates.packetsForwarded = Self.rate(old.packetsForwarded, new.packetsForwarded, seconds)
        rates.bytesForwarded = Self.rate(old.bytesForwarded, new.bytesForwarded, seconds)
        rates.packetsDropped = Self.rate(old.packetsDropped, new.packetsDropped, seconds)
        return rates
    }

    /// The rates of a listener's receivers; empty until the listener has been noted twice. O(receivers).
    public func receiverRates(of listener: String) -> [Endpoint: Rates] {
        guard let (old, new, seconds) = ends(of: listener) else { return [:] }
        let before = Dictionary(old.downstreams.map { ($0.endpoint, $0) }) { $1 }
        let pairs = new.downstreams.map { now in
            // A receiver that has joined since then started at 0.
            let then = before[now.endpoint]
            var rates = Rates()
            rates.packetsForwarded = Self.rate(
                then?.packetsForwarded ?? 0, now.packetsForwarded, seconds)
            rates.bytesForwarded = Self.rate(
                then?.bytesForwarded ?? 0, now.bytesForwarded, seconds)
            rates.packetsDropped = Self.rate(
                then?.drops.values.reduce(0, +) ?? 0, now.drops.values.reduce(0, +), seconds)
            rates.refusals = Self.rate(then?.refusals ?? 0, now.refusals, seconds)
            return (now.endpoint, rates)
        }
        return Dictionary(pairs) { $1 }
    }

    private func ends(of listener: String) -> (ListenerCounters, ListenerCounters, Double)? {
        let having = samples.filter { $0.listeners[listener] != nil }
        guard having.count > 1, let first = having.first, let last = having.last,
            let old = first.listeners[listener], let new = last.listeners[listener]
        else { return nil }
        return (old, new, (last.time - first.time) / .seconds(1))
    }

    /// A counter that is lower than before has restarted, so its value is the increase.
    private static func rate(_ old: UInt64, _ new: UInt64, _ seconds: Double) -> Double {
        guard seconds > 0 else { return 0 }
        return Double(new >= old ? new - old : new) / seconds
    }
}
