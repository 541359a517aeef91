// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import FanoutMetrics
internal import LinuxNet
internal import Logging
internal import UserspacePlane

#if KernelModes
    internal import AFXDPPlane
    internal import KernelForwarding
    internal import TCPlane
    internal import XDPNATPlane
#endif

/// The running daemon, which connects data planes, configuration and metrics.
actor Daemon {
    /// nil when the configuration is not from a file.
    let file: ConfigurationFile?
    let logger: Logger
    let discovery: DiscoveryMonitor
    let health: HealthMonitor
    let userspace: UserspacePlane
    let reconciler: Reconciler
    let service = ServiceNotification()
    let liveness = Liveness()
    let started = WallClock.now
    /// The same by the monotonic clock, nanoseconds.
    let startedTicks = MonotonicClock.now
    /// The active one.
    var configuration: Configuration
    /// The file's state when it was last read, successfully or not.
    var source: FileState?
    var reloads: ReloadStatus
    var metrics: MetricsServer?
    var control: ControlServer?
    /// What this process has taken over, and what it keeps for the next one.
    var inheritance: Inheritance
    /// The process that is taking over from this one.
    var newProcess: NewProcess?
    /// The result of the last reload, for the client that asked for it.
    var lastReload = ReloadReport()
    /// Capabilities that this process had at its start and has no more.
    var released: Capabilities = []
    var meter = RateMeter()
    var history = RateHistory()
    /// The tasks that run while the daemon serves.
    private var serving: Task<Void, Never>?
    /// Start, reloads, takeover steps and stop.
    private let queue = SerialQueue()
    private var isStopped = false
    /// Whether a stop was requested before it ran.
    var isUnwanted = false
    /// The wait for receivers in a takeover.
    var settling: Task<Void, Never>?
    var stage = Stage.starting

    enum Stage { case starting, serving, stopping }

    private static var steerings: [any WorkerSteering] {
        #if KernelModes
            [ReusePortSteering(), ClassicSteering()]
        #else
            [ClassicSteering()]
        #endif
    }

    /// - Parameters:
    ///   - source: the state of the file that `configuration` was read from.
    ///   - programs: what the kernel modes load.
    ///   - inheritance: what another process or the service manager has passed.
    init(
        file: ConfigurationFile?, source: FileState? = nil, configuration: Configuration,
        programs: KernelModePrograms = KernelModePrograms(),
        inheritance: Inheritance = Inheritance(), logger: Logger
    ) {
        self.file = file
        self.source = source
        self.configuration = configuration
        self.logger = logger
        self.inheritance = inheritance
        userspace = UserspacePlane(
            logger: logger, steerings: Self.steerings, inherited: inheritance.sockets)
        var planes: [any DataPlane] = []
        #if KernelModes
            let memory = PathMemory()
            planes.append(TCPlane(logger: logger, source: programs.tc, memory: memory))
            planes.append(AFXDPPlane(logger: logger, source: programs.xdp, memory: memory))
            planes.append(XDPNATPlane(logger: logger, memory: memory))
        #endif
        // Last: an old daemon reads on until all other planes are open.
        planes.append(userspace)
        let signal = ChangeSignal()
        discovery = Self.discovery(logger, signal)
        health = HealthMonitor(probe: SocketProbe(), logger: logger, signal: signal)
        reconciler = Reconciler(
            planes: planes, discovery: discovery, health: health, signal: signal,
            drains: inheritance.oldProcess?.drains ?? DrainList(),
            hasOldProcess: inheritance.oldProcess != nil, logger: logger)
        reloads = ReloadStatus(
            lastSuccessful: true, lastSuccessTimestampSeconds: started.secondsSinceEpoch,
            successes: 1, failures: 0)
    }

    /// Starts everything or nothing, before all requests that arrive meanwhile.
    ///
    /// - Returns: whether it runs; otherwise the reason has been logged.
    func start() async -> Bool { await runInOrder { await $0.performStart() } ?? false }

    private func performStart() async -> Bool {
        logger.info(
            "configuration loaded",
            metadata: [
                "path": "\(file?.path ?? "built in")",
                "listeners": "\(configuration.listeners.count)",
            ])
        logListenersByMode()
        guard prepareThreads() else { return failStart() }
        if let oldProcess = inheritance.oldProcess {
            guard await takeOver(from: oldProcess) else { return failStart() }
        } else {
            guard await open() else { return failStart() }
        }
        await userspace.dropInherited()
        inheritance.sockets = nil
        await keepSockets()
        serving = Task { await serve() }
        dropPrivileges()
        stage = .serving
        logger.info("udp-fanout is running. Press Ctrl+C to stop.")
        announceReady()
        return true
    }

    /// Runs until the task is cancelled.
    private func serve() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.reconciler.run() }
            if let file {
                let source = source
                group.addTask {
                    await FileWatch(path: file.path).run(
                        since: source, tellsOfAbsence: file.tellsOfAbsence
                    ) {
                        await self.fileChanged()
                        return true
                    }
                }
            }
            group.addTask { await self.logCounters() }
            group.addTask { await self.watchProgress() }
            group.addTask { await self.returnMemory() }
            group.addTask { await self.measure() }
        }
    }

    /// Ends a failed start; pending requests are dropped.
    private func failStart() -> Bool {
        isStopped = true
        return false
    }

    /// Opens everything in the configuration, all or nothing.
    private func open() async -> Bool {
        guard startControl() else { return false }
        await keepLastKnownReceivers()
        do {
            metrics = try await afterOld { try await $0.serve($0.configuration.metrics) }
        } catch {
            logger.error("metrics server error", metadata: ["error": "\(error)"])
            control?.stop()
            return false
        }
        do {
            await discoverAtStart()
            await settleDiscovery(configuration)
            _ = try await afterOld { try await $0.apply($0.configuration) }
            await reconciler.removeLeftovers()
        } catch {
            logger.error("start-up failed", metadata: ["error": "\(error)"])
            await discovery.stop(keeps: false)
            await health.stop()
            await metrics?.stop()
            control?.stop()
            return false
        }
        return true
    }

    /// Forwards or counts what was received, logs the totals and returns. No operation runs after it.
    ///
    /// Aborts a takeover by this process. Waits a while for a takeover of this process, so that traffic is served.
    ///
    /// - Parameter isRestart: whether kernel programs forward on until the next start.
    /// - Returns: false when it had ended already, or never began.
    @discardableResult
    func stop(forRestart isRestart: Bool = false) async -> Bool {
        if stage == .starting {
            isUnwanted = true
            settling?.cancel()
        }
        await awaitNewProcess()
        return await runInOrder { await $0.performStop(forRestart: isRestart) } != nil
    }

    /// Applies a configuration to health checks and data planes.
    @discardableResult
    func apply(_ wanted: Configuration) async throws -> Change {
        try await reconciler.apply(wanted.desiredState, health: wanted.healthChecks)
    }

    func counters() async -> [ListenerCounters] { await reconciler.counters() }

    /// Runs an operation after all earlier ones.
    ///
    /// - Returns: nil when the daemon has stopped before it.
    @discardableResult
    func runInOrder<Result: Sendable>(
        _ work: (isolated Daemon) async -> Result
    ) async -> Result? {
        await queue.run { isStopped ? nil : await work(self) }
    }

    private func performStop(forRestart isRestart: Bool) async {
        stage = .stopping
        service.stopping()
        let wasFollowed = newProcess != nil
        if let newProcess { await takeBack(from: newProcess.client, endsNext: true) }
        control?.stop()
        // The daemon may be started again, and then serves what arrives from here on. A process that was taking over
        // may continue with these sockets.
        if wasFollowed || !inheritance.store.isEmpty { await userspace.pause(emptyingQueues: true) }
        await end(leaving: isRestart ? Set(ForwardingMode.allCases.filter(\.outlivesDaemon)) : [])
        logger.info("udp-fanout stopped")
    }

    /// Ends after another process has taken over; the control socket still sends its last answer.
    func performHandover() async {
        stage = .stopping
        if let pid = newProcess?.process { service.isFollowed(by: pid) }
        await end(isFollowed: true)
    }

    private func end(isFollowed: Bool = false, leaving modes: Set<ForwardingMode> = []) async {
        isStopped = true
        serving?.cancel()
        await discovery.stop(keeps: !isFollowed)
        await health.stop()
        logTotals(await reconciler.stop(leaving: modes))
        await metrics?.stop()
    }

    func logTotals(_ counters: [ListenerCounters]) {
        for counts in counters { logger.info("listener totals", metadata: counts.totals) }
    }

    private func logListenersByMode() {
        let modes = ForwardingMode.allCases.map { mode in
            (mode.rawValue, configuration.listeners.count { $0.mode == mode })
        }
        logger.info(
            "configured listeners by mode",
            metadata: Dictionary(
                uniqueKeysWithValues: modes.map { ($0, Logger.MetadataValue("\($1)")) }))
    }
}

// A reload is all or nothing: read and check the file, open the metrics server, apply health checks, change the data
// planes. When a step fails, the previous steps are rolled back, and one log line says why.

extension Daemon {
    /// Applies the file as it is now; a file that cannot be used changes nothing.
    func reload() async { await runInOrder { await $0.performReload() } }

    /// The same, unless the file has been read since it changed.
    func fileChanged() async {
        await runInOrder { daemon in
            guard let file = daemon.file, FileState(of: file.path) != daemon.source else { return }
            await daemon.performReload()
        }
    }

    func performReload() async {
        guard let file else { return }
        guard newProcess == nil else {
            newProcess?.isReloadDue = true
            lastReload = ReloadReport(problems: [
                "another process is taking over; the file is read if the takeover fails, "
                    + "otherwise ask the new daemon"
            ])
            return
        }
        service.reloading()
        defer { announceReady() }
        let report = ConfigurationReport(file)
        source = report.source
        guard let next = report.configuration else {
            return reloadFailed(report.errors.map(\.description))
        }
        for warning in report.warnings { logger.warning("\(warning)") }
        // The second case: the server could not be restored after a failed reload.
        let isMoving =
            next.metrics != configuration.metrics || (next.metrics.enabled && metrics == nil)
        let previous = metrics
        if isMoving {
            do throws(MetricsServerError) {
                try await openMetrics(next.metrics)
            } catch {
                return reloadFailed(["metrics server error: \(error)"] + remedy(for: next))
            }
        }
        let previousControl = control
        do {
            try openControl(next.control)
            let unanswered = await discover(next, besides: configuration)
            let change = try await apply(next)
            await discover(next)
            if isMoving { await previous?.stop() }
            if previousControl !== control {
                previousControl?.stop()
                await keepLastKnownReceivers()
            }
            await keepSockets()
            let remedy = remedy(for: next)
            for line in remedy { logger.warning("\(line)") }
            lastReload.warnings = report.warnings.map(\.description) + unanswered + remedy
            reloadSucceeded(next, change)
        } catch {
            if isMoving { await rollBackMetrics(to: previous) }
            if previousControl !== control {
                control?.stop()
                control = previousControl
            }
            await discover(configuration)
            reloadFailed(problems(of: error, in: next))
        }
    }

    private func reloadSucceeded(_ next: Configuration, _ change: Change) {
        var fields = change.summary
        if next.metrics != configuration.metrics {
            fields["changed"] = nil
            fields["metrics"] = next.metrics.enabled ? "\(next.metrics.bind)" : "off"
        }
        if next.health != configuration.health {
            fields["changed"] = nil
            fields["health"] = "\(next.health.summary ?? "off")"
        }
        configuration = next
        reloads.successes += 1
        reloads.lastSuccessful = true
        reloads.lastSuccessTimestampSeconds = WallClock.now.secondsSinceEpoch
        lastReload.changes = fields.mapValues { "\($0)" }
        lastReload.problems = []
        logger.info("configuration reloaded", metadata: fields)
    }

    private func reloadFailed(_ problems: [String]) {
        lastReload = ReloadReport(problems: problems)
        reloads.failures += 1
        reloads.lastSuccessful = false
        logger.error(
            "configuration not reloaded, the previous one stays active",
            metadata: ["error": "\(problems.joined(separator: " | "))"])
    }
}

extension Configuration {
    var healthChecks: HealthChecks {
        HealthChecks(active: health.policy, passive: health.passivePolicy)
    }
}
