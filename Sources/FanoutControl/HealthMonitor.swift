// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import Logging
internal import Synchronization

/// Follows the health of the receivers: has them probed, keeps the verdicts, says in the log what has
/// turned, and has somebody act on it.
public actor HealthMonitor: HealthSource {
    private let probe: any HealthProbe
    private let logger: Logger
    private let mailbox = ProbeMailbox()
    private var table = HealthTable()
    private var refusals = RefusalTable()
    /// Of another process, until refusals are followed.
    private var assumed: Set<Endpoint> = []
    private var state = DesiredState()
    /// Listeners that use all of their downstreams, because too few are healthy.
    private var open: Set<String> = []
    private var lastComplaint: ContinuousClock.Instant?

    /// How long results are gathered after a change: when many receivers turn at once, a few changes
    /// do for all.
    private static let patience = Duration.milliseconds(25)

    public init(probe: any HealthProbe, logger: Logger) {
        self.probe = probe
        self.logger = logger
    }

    /// Probes the downstreams of `state` from now on.
    ///
    /// - Parameters:
    ///   - policy: nil: nothing is probed.
    ///   - passive: nil: refusals of downstreams say nothing of their health. Without either every downstream
    ///     counts as healthy.
    /// - Throws: `HealthError` when probing could not begin; everything is as it was then.
    public func follow(
        _ policy: HealthPolicy?, passive: HealthPolicy? = nil, _ state: DesiredState
    ) throws(HealthError) {
        var next = table
        next.follow(policy, state)
        if let policy {
            // The kernel modes have no socket that would keep their ports from being given away.
            let avoided = state.listeners.filter(\.mode.needsInterface).map(\.bind.port)
            let plan = ProbePlan(
                targets: next.targets, interval: policy.interval, timeout: policy.timeout,
                payload: policy.payload, avoidedPorts: Set(avoided))
            try probe.follow(plan) { [mailbox] in mailbox.put($0) }
        } else {
            probe.stop()
        }
        (table, self.state) = (next, state)
        refusals.follow(passive, state, assuming: policy == nil ? assumed : [])
        assumed = []
        noteOpen()
    }

    /// Takes it for known, before the first `follow`, that these are unhealthy.
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

    /// What has been found, for metrics.
    public var report: HealthReport {
        var report = table.report
        report.healthStatuses.merge(refusals.healthStatuses) { $0 && $1 }
        return report
    }

    /// Takes the counters of every listener as they are at `time`, for passive health checks.
    ///
    /// - Returns: the receivers that refuse, each time an interval is over, to be tried again.
    public func note(
        _ counters: [ListenerCounters], at time: ContinuousClock.Instant
    ) -> Set<Endpoint> {
        guard let events = refusals.note(counters, at: time) else { return [] }
        for event in events {
            log(event.change, event.users, probe: "passive", result: .refused, detail: "")
        }
        if !events.isEmpty { mailbox.put([]) }
        return refusals.refusing
    }

    /// Takes the results as they come, until the task is cancelled.
    ///
    /// - Parameter act: called when the view is another one: brings it into force, and returns whether
    ///   that worked. When it did not, it is called again with the results that come next.
    public func run(_ act: @Sendable () async -> Bool) async {
        // Nil while it is not known: at first, and when others may have applied what could not be applied here.
        var active: HealthView?
        for await _ in mailbox.arrivals {
            for report in mailbox.take() { note(report) }
            let now = current
            guard now != active else { continue }
            noteOpen()
            active = await act() ? now : nil
            guard (try? await Task.sleep(for: Self.patience)) != nil else { return }
        }
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

    /// What is wrong with this host concerns every probe; one line a minute tells it.
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

/// Results on their way from the probing thread: put in without waiting, taken out all at once.
final class ProbeMailbox: Sendable {
    /// One element for any number of results since the last.
    let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation
    private let reports = Mutex<[ProbeReport]>([])

    init() {
        (arrivals, arrived) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func put(_ more: [ProbeReport]) {
        reports.withLock { $0 += more }
        arrived.yield()
    }

    func take() -> [ProbeReport] {
        reports.withLock { reports in
            defer { reports = [] }
            return reports
        }
    }
}
