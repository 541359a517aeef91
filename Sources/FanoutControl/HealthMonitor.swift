// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import Logging

/// Checks the health of the receivers by probes and by refusals, and logs what changes.
public actor HealthMonitor {
    private let probe: any HealthProbe
    private let logger: Logger
    private let signal: ChangeSignal
    private let mailbox: Mailbox<[ProbeReport]>
    private var table = HealthTable()
    private var refusals = RefusalTable()
    /// Unhealthy receivers that another process reported, until refusals are followed.
    private var assumed: Set<Endpoint> = []
    private var checks = HealthChecks()
    private var state = DesiredState()
    /// The view at the last `takeReports`.
    private var taken = HealthView()
    /// Listeners that use all of their receivers, because too few are healthy.
    private var open: Set<String> = []
    private var lastComplaint: ContinuousClock.Instant?

    /// - Parameter signal: wakes the reconciler.
    public init(
        probe: any HealthProbe, logger: Logger, signal: ChangeSignal = ChangeSignal()
    ) {
        self.probe = probe
        self.logger = logger
        self.signal = signal
        mailbox = Mailbox([], signal: signal)
    }

    /// Checks the receivers of `state` from now on, as `checks` specify.
    ///
    /// - Throws: `HealthError` if probing cannot start; everything then stays as before.
    public func follow(_ checks: HealthChecks, _ state: DesiredState) throws(HealthError) {
        guard checks != self.checks || (!checks.isEmpty && state != self.state) else { return }
        let policy = checks.active
        var next = table
        next.follow(policy, state)
        if let policy {
            // The kernel modes have no socket that would keep their ports from being given away.
            let avoided = state.listeners.filter(\.mode.needsInterface).map(\.bind.port)
            let plan = ProbePlan(
                targets: next.targets, interval: policy.interval, timeout: policy.timeout,
                payload: policy.payload, avoidedPorts: Set(avoided))
            try probe.follow(plan) { [mailbox] reports in mailbox.put { $0 += reports } }
        } else {
            probe.stop()
        }
        (table, self.checks, self.state) = (next, checks, state)
        refusals.follow(checks.passive, state, assuming: policy == nil ? assumed : [])
        assumed = []
        noteOpen()
    }

    /// Assumes, before the first `follow`, that these are unhealthy.
    public func assume(unhealthy: Set<Endpoint>) {
        table.assume(unhealthy: unhealthy)
        assumed = unhealthy
    }

    public func view() -> HealthView { current }

    private var current: HealthView {
        var view = table.view
        view.refusing = refusals.refusing
        view.unhealthy.formUnion(view.refusing)
        view.minHealthyPercent = max(view.minHealthyPercent, refusals.minHealthyPercent)
        return view
    }

    /// The results, for metrics.
    public var report: HealthReport {
        var report = table.report
        report.healthStatuses.merge(refusals.healthStatuses) { $0 && $1 }
        return report
    }

    /// Takes the counters of every listener at `time`, for passive health checks.
    ///
    /// - Returns: at the end of each interval, the receivers that refuse, to be tried again.
    public func note(
        _ counters: [ListenerCounters], at time: ContinuousClock.Instant
    ) -> Set<Endpoint> {
        guard let events = refusals.note(counters, at: time) else { return [] }
        for event in events {
            log(event.change, event.users, probe: "passive", result: .refused, detail: "")
        }
        if !events.isEmpty { signal.send() }
        return refusals.refusing
    }

    /// Takes the results of probes since the last call.
    ///
    /// - Returns: whether the view has changed.
    func takeReports() -> Bool {
        for report in mailbox.take() { note(report) }
        let now = current
        guard now != taken else { return false }
        taken = now
        noteOpen()
        return true
    }

    public func stop() { probe.stop() }

    private func note(_ report: ProbeReport) {
        if report.result == .error { complain(report) }
        guard let event = table.note(report) else { return }
        log(
            event.change, event.users, probe: report.target.kind.rawValue, result: report.result,
            detail: report.detail)
    }

    private func log(
        _ change: HealthStatus.Change, _ users: [HealthTable.User], probe: String,
        result: ProbeResult,
        detail: String
    ) {
        for user in users {
            var fields: Logger.Metadata = [
                "listener": "\(user.listener)", "downstream": "\(user.downstream.name)",
                "address": "\(user.downstream.endpoint)",
                "probe": "\(probe)",
            ]
            switch change {
            case .healthy: logger.info("downstream is healthy", metadata: fields)
            case .unhealthy:
                fields["result"] = "\(result.rawValue)"
                if !detail.isEmpty { fields["error"] = "\(detail)" }
                logger.warning("downstream marked unhealthy, disabling", metadata: fields)
            }
        }
    }

    /// A fault of this host concerns every probe, so it is logged once a minute.
    private func complain(_ report: ProbeReport) {
        let now = ContinuousClock.now
        if let lastComplaint, now - lastComplaint < .seconds(60) { return }
        lastComplaint = now
        logger.warning(
            "a health probe could not be sent; the downstream keeps its state",
            metadata: [
                "address": "\(report.target.endpoint)", "probe": "\(report.target.kind.rawValue)",
                "error": "\(report.detail)",
            ])
    }

    private func noteOpen() {
        let view = current
        let now = Set(state.listeners.filter(view.opens).map(\.name))
        for name in now.subtracting(open).sorted() {
            logger.warning(
                "too few downstreams are healthy, all are used",
                metadata: [
                    "listener": "\(name)", "min_healthy_percent": "\(view.minHealthyPercent)",
                ])
        }
        for name in open.subtracting(now).sorted() {
            logger.info(
                "enough downstreams are healthy, the others are not used",
                metadata: ["listener": "\(name)"])
        }
        open = now
    }
}
