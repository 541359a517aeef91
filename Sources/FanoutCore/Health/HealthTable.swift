// SPDX-License-Identifier: Apache-2.0

/// The verdict on every target, and whom it concerns. A value: it takes results and answers with what
/// they change.
public struct HealthTable: Sendable {
    /// A downstream of a listener that a target stands for.
    public struct User: Equatable, Sendable {
        public let listener: String
        public let downstream: Downstream
    }

    /// A verdict that has turned, and the downstreams that it concerns.
    public struct Event: Equatable, Sendable {
        public let report: ProbeReport
        public let turn: Verdict.Turn
        public let users: [User]
    }

    private var policy: HealthPolicy?
    private var verdicts: [ProbeTarget: Verdict] = [:]
    private var users: [ProbeTarget: [User]] = [:]
    /// Of another process, until its downstreams are followed.
    private var assumed: Set<Endpoint> = []
    /// Probes by what came of them, since the beginning.
    public private(set) var probes: [ProbeResult: UInt64] = [:]

    public init() {}

    /// What is to be probed.
    public var targets: Set<ProbeTarget> { Set(users.keys) }

    /// Takes it for known that these are unhealthy, when they are followed next.
    public mutating func assume(unhealthy: Set<Endpoint>) { assumed = unhealthy }

    /// Takes up other listeners or another policy. A downstream keeps its verdict, even when it is
    /// probed in another way from now on; a new one is healthy until its probes fail.
    ///
    /// - Parameter policy: nil when nothing is to be probed; everything is forgotten then.
    public mutating func follow(_ policy: HealthPolicy?, _ state: DesiredState) {
        let former = view.unhealthy.union(assumed)
        assumed = []
        self.policy = policy
        users = [:]
        guard let policy else {
            verdicts = [:]
            return
        }
        for listener in state.listeners {
            for downstream in listener.downstreams {
                users[policy.target(of: downstream.endpoint), default: []].append(
                    User(listener: listener.name, downstream: downstream))
            }
        }
        let known = verdicts
        verdicts = [:]
        for (target, users) in users {
            let wasDown = users.contains { former.contains($0.downstream.endpoint) }
            verdicts[target] = known[target] ?? Verdict(assuming: !wasDown)
        }
    }

    /// Takes one result into account; one of a target that is not followed changes nothing.
    ///
    /// - Returns: what it changes.
    public mutating func note(_ report: ProbeReport) -> Event? {
        guard let policy, let users = users[report.target] else { return nil }
        probes[report.result, default: 0] += 1
        guard let isAlive = report.result.isAlive,
            let turn = verdicts[report.target]?.note(isAlive, policy)
        else { return nil }
        return Event(report: report, turn: turn, users: users)
    }

    /// The verdict on a downstream; nil when it is not probed.
    public func isHealthy(_ endpoint: Endpoint) -> Bool? {
        guard let policy else { return nil }
        return verdicts[policy.target(of: endpoint)]?.isHealthy
    }

    /// O(downstreams).
    public var view: HealthView {
        var unhealthy: Set<Endpoint> = []
        for (target, verdict) in verdicts where !verdict.isHealthy {
            for user in users[target] ?? [] { unhealthy.insert(user.downstream.endpoint) }
        }
        return HealthView(
            unhealthy: unhealthy, minHealthyPercent: policy?.minHealthyPercent ?? 0)
    }

    /// O(downstreams).
    public var report: HealthReport {
        var verdicts: [Endpoint: Bool] = [:]
        for (target, users) in users {
            for user in users {
                verdicts[user.downstream.endpoint] = self.verdicts[target]?.isHealthy
            }
        }
        return HealthReport(verdicts: verdicts, probes: probes)
    }
}

/// What health checks have found, for metrics.
public struct HealthReport: Equatable, Sendable {
    /// Whether the downstream at an endpoint is healthy; downstreams that are not probed are left out.
    public var verdicts: [Endpoint: Bool]
    /// Probes by what came of them; results that never came up are left out.
    public var probes: [ProbeResult: UInt64]

    public init(verdicts: [Endpoint: Bool] = [:], probes: [ProbeResult: UInt64] = [:]) {
        self.verdicts = verdicts
        self.probes = probes
    }
}
