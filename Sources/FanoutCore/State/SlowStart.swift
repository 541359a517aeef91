// SPDX-License-Identifier: Apache-2.0

/// Whose share of new traffic is still rising: with `settings.slow_start_secs` a receiver that comes, or becomes
/// healthy, or is drained no more begins with a tenth of its weight, and has another tenth after each tenth of that
/// time. A value; it knows no clock.
///
/// If no other receiver is ready, all begin with their whole weight. So do the receivers of a listener that has just
/// been added.
public struct SlowStart: Equatable, Sendable {
    public typealias Instant = ContinuousClock.Instant

    private struct Warming: Equatable {
        /// The receivers that were ready in the previous state.
        var ready: Set<Endpoint>
        /// When those began that have not all of their weight yet.
        var beginnings: [Endpoint: Instant] = [:]
    }

    /// By listener, of those that want it.
    private var listeners: [String: Warming] = [:]
    /// When a share rises next; nil if all have their whole weight.
    public private(set) var next: Instant?

    public init() {}

    /// Takes up a state and lays the shares of `now` over it.
    ///
    /// - Parameter now: not before that of the last call.
    public mutating func lay(over state: DesiredState, at now: Instant) -> DesiredState {
        var result = state
        var known: [String: Warming] = [:]
        next = nil
        for index in state.listeners.indices {
            let listener = state.listeners[index]
            guard listener.settings.slowStartSeconds > 0 else { continue }
            var warming = follow(listener, at: now)
            for place in listener.downstreams.indices {
                let endpoint = listener.downstreams[place].endpoint
                guard let beginning = warming.beginnings[endpoint] else { continue }
                let step = Duration.seconds(listener.settings.slowStartSeconds) / Downstream.warm
                let steps = Int((now - beginning) / step)
                guard steps + 1 < Downstream.warm else {
                    warming.beginnings[endpoint] = nil
                    continue
                }
                result.listeners[index].downstreams[place].warmth = steps + 1
                let rise = beginning + step * (steps + 1)
                next = next.map { min($0, rise) } ?? rise
            }
            known[listener.name] = warming
        }
        listeners = known
        return result
    }

    /// Who is ready now, and since when those are that have come.
    private func follow(_ listener: Listener, at now: Instant) -> Warming {
        let ready = Set(listener.downstreams.filter(\.isReady).map(\.endpoint))
        var warming = Warming(ready: ready)
        guard let previous = listeners[listener.name] else { return warming }
        warming.beginnings = previous.beginnings.filter { ready.contains($0.key) }
        if !ready.isDisjoint(with: previous.ready) {
            for endpoint in ready.subtracting(previous.ready) { warming.beginnings[endpoint] = now }
        }
        return warming
    }
}

extension [Downstream] {
    /// The weights in a table of those at `positions`. While a share is rising all are multiplied, so that
    /// a tenth of a weight of 1 is a whole number.
    func shares(at positions: [Int]) -> [UInt16] {
        guard positions.contains(where: { self[$0].warmth < Downstream.warm }) else {
            return positions.map { self[$0].weight }
        }
        let heaviest = positions.map { Int(self[$0].weight) }.max() ?? 1
        let factor = Swift.max(
            1, Swift.min(Downstream.warm, Int(UInt16.max) / Swift.max(1, heaviest)))
        return positions.map { position in
            let share =
                Int(self[position].weight) * factor * self[position].warmth / Downstream.warm
            return UInt16(Swift.max(1, share))
        }
    }
}
