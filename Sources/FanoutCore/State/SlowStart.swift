// SPDX-License-Identifier: Apache-2.0

/// Raises the share of new traffic step by step: with `settings.slow_start_secs`, a receiver that joins, becomes
/// healthy or is undrained starts with a tenth of its weight and gains another tenth after each tenth of that time.
/// A value without a clock.
///
/// If no other receiver is ready, all start with their full weight. So do the receivers of a listener that was just
/// added.
public struct SlowStart: Equatable, Sendable {
    public typealias Instant = ContinuousClock.Instant

    private struct Warming: Equatable {
        /// The receivers that were ready in the previous state.
        var ready: Set<Endpoint>
        /// When receivers started that do not have their full weight yet.
        var beginnings: [Endpoint: Instant] = [:]
    }

    /// Only listeners with a slow start.
    private var listeners: [String: Warming] = [:]
    /// When the next share rises; nil if all have their full weight.
    public private(set) var next: Instant?

    public init() {}

    /// Returns `state` with the shares at `now`.
    ///
    /// - Parameter now: not before that of the previous call.
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

    /// The receivers that are ready now, and the start times of new ones.
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
    /// The weights of the receivers at `positions` for a table. While a share rises, all are multiplied, so that a
    /// tenth of a weight of 1 is a whole number.
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
