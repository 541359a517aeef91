// SPDX-License-Identifier: Apache-2.0

/// The health status of receivers by refusals of forwarded datagrams: an interval with a refusal is a failed probe.
/// A value: it takes the counters from time to time.
public struct RefusalTable: Sendable {
    /// A status change, and the receivers that it concerns.
    public struct Event: Equatable, Sendable {
        public let change: HealthStatus.Change
        public let users: [HealthTable.User]
    }

    fileprivate struct Sums: Equatable {
        var forwarded: UInt64 = 0
        var refusals: UInt64 = 0
    }

    fileprivate struct Entry {
        var status: HealthStatus
        var users: [HealthTable.User] = []
        /// At the previous call; nil before the first.
        var sums: Sums?
        /// Whether it was sent a datagram while out of service and has not refused it yet. The refusal may still
        /// arrive, so the next interval decides.
        var isOnTrial = false
    }

    private var policy: HealthPolicy?
    private var entries: [Endpoint: Entry] = [:]
    private var lastJudged: ContinuousClock.Instant?

    public init() {}

    /// Takes other listeners or another policy. A receiver keeps its status; a new one is healthy.
    ///
    /// - Parameters:
    ///   - policy: its interval and thresholds; nil: refusals are ignored.
    ///   - unhealthy: receivers that are known to be out of service.
    public mutating func follow(
        _ policy: HealthPolicy?, _ state: DesiredState, assuming unhealthy: Set<Endpoint> = []
    ) {
        self.policy = policy
        let known = entries
        entries = [:]
        guard policy != nil else {
            lastJudged = nil
            return
        }
        for listener in state.listeners {
            for downstream in listener.downstreams {
                let endpoint = downstream.endpoint
                var entry =
                    entries[endpoint] ?? known[endpoint]
                    ?? Entry(status: HealthStatus(assuming: !unhealthy.contains(endpoint)))
                if entries[endpoint] == nil { entry.users = [] }
                entry.users.append(
                    HealthTable.User(listener: listener.name, downstream: downstream))
                entries[endpoint] = entry
            }
        }
    }

    /// Takes the counters of every listener at `time`, which increases from call to call.
    ///
    /// - Returns: the changes at the end of an interval; nil before that.
    public mutating func note(
        _ counters: [ListenerCounters], at time: ContinuousClock.Instant
    ) -> [Event]? {
        guard let policy else { return nil }
        let isOver = lastJudged.map { time - $0 >= policy.interval } ?? false
        guard isOver || entries.values.contains(where: { $0.sums == nil }) else { return nil }
        if lastJudged == nil || isOver { lastJudged = time }
        var sums: [Endpoint: Sums] = [:]
        for downstream in counters.lazy.flatMap(\.downstreams) {
            sums[downstream.endpoint, default: Sums()].forwarded &+= downstream.packetsForwarded
            sums[downstream.endpoint, default: Sums()].refusals &+= downstream.refusals
        }
        var events: [Event] = []
        for place in entries.indices {
            guard let now = sums[entries[place].key] else { continue }
            let entry = entries.values[place]
            guard isOver, let before = entry.sums else {
                if entry.sums == nil { entries.values[place].sums = now }
                continue
            }
            entries.values[place].sums = now
            guard let isAlive = entries.values[place].result(before, now),
                let change = entries.values[place].status.note(isAlive, policy)
            else { continue }
            events.append(Event(change: change, users: entry.users))
        }
        return isOver ? events : nil
    }

    /// Receivers that are out of service because they refuse datagrams.
    public var refusing: Set<Endpoint> {
        Set(entries.lazy.filter { !$0.value.status.isHealthy }.map(\.key))
    }

    /// Whether each receiver is healthy by its refusals.
    public var healthStatuses: [Endpoint: Bool] { entries.mapValues(\.status.isHealthy) }

    /// See `HealthPolicy`; 0 without a policy.
    public var minHealthyPercent: Int { policy?.minHealthyPercent ?? 0 }
}

extension RefusalTable.Entry {
    /// The result of an interval; nil if nothing was sent, or it is too early to tell.
    fileprivate mutating func result(
        _ before: RefusalTable.Sums, _ now: RefusalTable.Sums
    ) -> Bool? {
        // A counter that is lower than before has restarted.
        let isRefused = now.refusals != before.refusals && now.refusals > 0
        let isSent = now.forwarded != before.forwarded && now.forwarded > 0
        let wasOnTrial = isOnTrial
        isOnTrial = !isRefused && isSent && !status.isHealthy
        if isRefused { return false }
        if status.isHealthy { return isSent ? true : nil }
        return wasOnTrial ? true : nil
    }
}
