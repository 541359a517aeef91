// SPDX-License-Identifier: Apache-2.0

/// Rates of listeners over the last two minutes, for charts. Takes 16 bytes per point and 60 points per listener,
/// for 1 024 listeners at most; for further ones only the total is kept.
public struct RateHistory: Equatable, Sendable {
    /// The average since the previous point.
    public struct Point: Equatable, Sendable {
        public let time: ContinuousClock.Instant
        public let received: Float
        public let forwarded: Float
        public let dropped: Float
    }

    /// The sum over all listeners, oldest first.
    public private(set) var total: [Point] = []
    private var points: [String: [Point]] = [:]
    private var last: Sums?

    private struct Sums: Equatable, Sendable {
        let time: ContinuousClock.Instant
        var total = Counts()
        var listeners: [String: Counts] = [:]
    }

    private struct Counts: Equatable, Sendable {
        var received: UInt64 = 0
        var forwarded: UInt64 = 0
        var dropped: UInt64 = 0

        mutating func add(_ other: Counts) {
            received &+= other.received
            forwarded &+= other.forwarded
            dropped &+= other.dropped
        }
    }

    static let pointsMax = 60
    static let listenersMax = 1024
    static let step = Duration.seconds(2)

    public init() {}

    /// The points of a listener, oldest first.
    public func points(of listener: String) -> [Point] { points[listener] ?? [] }

    /// Takes the counters of every listener at `time`, which increases from call to call. Ignores a call within two
    /// seconds of the last point.
    public mutating func note(_ counters: [ListenerCounters], at time: ContinuousClock.Instant) {
        if let last, time - last.time < Self.step { return }
        var now = Sums(time: time)
        for listener in counters {
            let counts = Counts(
                received: listener.packetsReceived, forwarded: listener.packetsForwarded,
                dropped: listener.packetsDropped)
            now.total.add(counts)
            // A listener that moves from one mode to another is listed twice.
            now.listeners[listener.listener, default: Counts()].add(counts)
        }
        defer { last = now }
        guard let last else { return }
        let seconds = Float((time - last.time) / .seconds(1))
        let begin = time - Self.step * Self.pointsMax
        Self.append(Self.point(last.total, now.total, time, seconds), to: &total, since: begin)
        points = points.filter { now.listeners[$0.key] != nil }
        for (name, counts) in now.listeners {
            guard let old = last.listeners[name],
                points[name] != nil || points.count < Self.listenersMax
            else { continue }
            Self.append(
                Self.point(old, counts, time, seconds), to: &points[name, default: []],
                since: begin)
        }
    }

    private static func append(
        _ point: Point, to points: inout [Point], since begin: ContinuousClock.Instant
    ) {
        points.removeAll { $0.time <= begin }
        if points.count == pointsMax { points.removeFirst() }
        points.append(point)
    }

    private static func point(
        _ old: Counts, _ new: Counts, _ time: ContinuousClock.Instant, _ seconds: Float
    ) -> Point {
        // A counter that is lower than before has restarted.
        func rate(_ old: UInt64, _ new: UInt64) -> Float {
            Float(new >= old ? new - old : new) / seconds
        }
        return Point(
            time: time, received: rate(old.received, new.received),
            forwarded: rate(old.forwarded, new.forwarded), dropped: rate(old.dropped, new.dropped))
    }
}
