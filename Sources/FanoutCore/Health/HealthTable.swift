// SPDX-License-Identifier: Apache-2.0

/// The health status of every target, and the receivers that use it. A value: it takes results and returns the
/// changes.
public struct HealthTable: Sendable {
    /// A receiver of a listener that uses a target.
    public struct User: Equatable, Sendable {
        public let listener: String
        public let downstream: Downstream
    }

    /// A status change, and the receivers that it concerns.
    public struct Event: Equatable, Sendable {
        public let report: ProbeReport
        public let change: HealthStatus.Change
        public let users: [User]
    }

    private var policy: HealthPolicy?
    private var healthStatuses: [ProbeTarget: HealthStatus] = [:]
    private var users: [ProbeTarget: [User]] = [:]
    /// Unhealthy receivers that another process reported, until they are followed.
    private var assumed: Set<Endpoint> = []
    /// Finished probes by result, since the start.
    public private(set) var probes: [ProbeResult: UInt64] = [:]

    public init() {}

    /// The targets to probe.
    public var targets: Set<ProbeTarget> { Set(users.keys) }

    /// Assumes that these are unhealthy when they are followed next.
    public mutating func assume(unhealthy: Set<Endpoint>) { assumed = unhealthy }

    /// Takes other listeners or another policy. A receiver keeps its status, even if it is probed in another way
    /// from now on; a new one is healthy until its probes fail.
    ///
    /// - Parameter policy: nil to probe nothing and discard all statuses.
    public mutating func follow(_ policy: HealthPolicy?, _ state: DesiredState) {
        let previous = view.unhealthy.union(assumed)
        assumed = []
        self.policy = policy
        users = [:]
        guard let policy else {
            healthStatuses = [:]
            return
        }
        for listener in state.listeners {
            for downstream in listener.downstreams {
                users[policy.target(of: downstream.endpoint), default: []].append(
                    User(listener: listener.name, downstream: downstream))
            }
        }
        let known = healthStatuses
        healthStatuses = [:]
        for (target, users) in users {
            let wasDown = users.contains { previous.contains($0.downstream.endpoint) }
            healthStatuses[target] = known[target] ?? HealthStatus(assuming: !wasDown)
        }
    }

    /// Adds a result; ignores one of a target that is not followed.
    ///
    /// - Returns: the change, if any.
    public mutating func note(_ report: ProbeReport) -> Event? {
        guard let policy, let users = users[report.target] else { return nil }
        probes[report.result, default: 0] += 1
        guard let isAlive = report.result.isAlive,
            let change = healthStatuses[report.target]?.note(isAlive, policy)
        else { return nil }
        return Event(report: report, change: change, users: users)
    }

    /// The status of the receiver at `endpoint`; nil if it is not probed.
    public func isHealthy(_ endpoint: Endpoint) -> Bool? {
        guard let policy else { return nil }
        return healthStatuses[policy.target(of: endpoint)]?.isHealthy
    }

    /// O(receivers).
    public var view: HealthView {
        var unhealthy: Set<Endpoint> = []
        for (target, status) in healthStatuses where !status.isHealthy {
            for user in users[target] ?? [] { unhealthy.insert(user.downstream.endpoint) }
        }
        return HealthView(
            unhealthy: unhealthy, minHealthyPercent: policy?.minHealthyPercent ?? 0)
    }

    /// O(receivers).
    public var report: HealthReport {
        var healthStatuses: [Endpoint: Bool] = [:]
        for (target, users) in users {
            for user in users {
                healthStatuses[user.downstream.endpoint] = self.healthStatuses[target]?.isHealthy
            }
        }
        return HealthReport(healthStatuses: healthStatuses, probes: probes)
    }
}

/// The results of health checks, for metrics.
public struct HealthReport: Equatable, Sendable {
    /// Whether the receiver at an endpoint is healthy; without receivers that are not probed.
    public var healthStatuses: [Endpoint: Bool]
    /// Finished probes by result; without results that never occurred.
    public var probes: [ProbeResult: UInt64]

    public init(healthStatuses: [Endpoint: Bool] = [:], probes: [ProbeResult: UInt64] = [:]) {
        self.healthStatuses = healthStatuses
        self.probes = probes
    }
}
