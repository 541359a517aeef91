// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import FanoutMetrics
internal import LinuxNet
internal import Logging
internal import UserspacePlane

/// The running daemon: the one place where data planes, configuration and metrics meet.
actor Daemon {
    /// The configuration file; nil when there is none to read again.
    private let path: String?
    private let logger: Logger
    private let reconciler: Reconciler
    private let started = WallClock.now
    private var configuration: Configuration
    private var reloads: ReloadStatus
    private var metrics: MetricsServer?
    private var tasks: [Task<Void, Never>] = []
    /// Reloads and the stop run one after the other, in the order in which they were asked for.
    private var last: Task<Void, Never>?

    init(path: String?, configuration: Configuration, logger: Logger) {
        self.path = path
        self.configuration = configuration
        self.logger = logger
        reconciler = Reconciler(planes: [UserspacePlane(logger: logger)], logger: logger)
        reloads = ReloadStatus(
            lastSuccessful: true, lastSuccessTimestampSeconds: started.secondsSinceEpoch,
            successes: 1, failures: 0)
    }

    /// Starts everything or nothing.
    ///
    /// - Returns: whether it runs; otherwise the reason has been logged.
    func start() async -> Bool {
        ThisProcess.raiseOpenFiles()
        logger.info(
            "configuration loaded",
            metadata: [
                "path": "\(path ?? "built in")", "listeners": "\(configuration.listeners.count)",
            ])
        logListenersByMode()
        guard await startMetrics(configuration.metrics) else { return false }
        do throws(PlaneError) {
            try await reconciler.apply(configuration.desiredState)
        } catch {
            logger.error("start-up failed", metadata: ["error": "\(error)"])
            await metrics?.stop()
            return false
        }
        if let path {
            tasks.append(Task { await FileWatch(path: path).run { await self.reload() } })
        }
        tasks.append(Task { await beat() })
        logger.info("udp-fanout is running. Press Ctrl+C to stop.")
        return true
    }

    /// Puts the file as it now stands into force; a file that cannot be used changes nothing.
    func reload() async { await enqueue { await $0.performReload() } }

    /// Forwards or counts what was received, logs the totals and returns.
    func stop() async { await enqueue { await $0.performStop() } }

    func counters() async -> [ListenerCounters] { await reconciler.counters() }

    private func enqueue(_ work: @escaping @Sendable (isolated Daemon) async -> Void) async {
        let before = last
        let task = Task {
            await before?.value
            await work(self)
        }
        last = task
        await task.value
    }

    private func performReload() async {
        guard let path else { return }
        let report = ConfigurationReport(path: path)
        guard let next = report.configuration else {
            let all = report.errors.map(\.description).joined(separator: " | ")
            return reloadFailed(all)
        }
        for warning in report.warnings { logger.warning("\(warning)") }
        let former = configuration.metrics
        if next.metrics != former, await !moveMetrics(to: next.metrics) {
            return reloadFailed("metrics.bind \(next.metrics.bind) cannot be served")
        }
        do throws(PlaneError) {
            let change = try await reconciler.apply(next.desiredState)
            configuration = next
            reloads.successes += 1
            reloads.lastSuccessful = true
            reloads.lastSuccessTimestampSeconds = WallClock.now.secondsSinceEpoch
            logger.info("configuration reloaded", metadata: change.summary)
        } catch {
            if next.metrics != former { _ = await moveMetrics(to: former) }
            reloadFailed("\(error)")
        }
    }

    private func reloadFailed(_ reason: String) {
        reloads.failures += 1
        reloads.lastSuccessful = false
        logger.error(
            "configuration not reloaded, the one before stays in force",
            metadata: ["error": "\(reason)"])
    }

    private func performStop() async {
        for task in tasks { task.cancel() }
        for counts in await reconciler.stop() {
            logger.info("listener totals", metadata: counts.totals)
        }
        await metrics?.stop()
        logger.info("udp-fanout stopped")
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

    /// A sign of life with the counters, for whoever reads the debug log.
    private func beat() async {
        while (try? await Task.sleep(for: .seconds(5))) != nil {
            guard logger.logLevel <= .debug else { continue }
            for counts in await reconciler.counters() where counts.mode == .userspace {
                var fields = counts.totals
                fields["downstreams"] = "\(counts.downstreams.count)"
                logger.debug("userspace worker heartbeat", metadata: fields)
            }
        }
    }
}

// MARK: Metrics

extension Daemon {
    private func startMetrics(_ wanted: MetricsConfiguration) async -> Bool {
        guard wanted.enabled else { return true }
        do throws(MetricsServerError) {
            metrics = try await MetricsServer.start(
                bind: wanted.bind, path: wanted.path, logger: logger
            ) { await self.snapshot() }
            return true
        } catch {
            logger.error("metrics server error", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Serves the metrics where `wanted` says. An address that changes is opened before the old one is
    /// closed; with the same address the old server has to go first, and comes back on failure.
    private func moveMetrics(to wanted: MetricsConfiguration) async -> Bool {
        let former = metrics
        if former?.boundEndpoint == wanted.bind { await former?.stop() }
        metrics = nil
        guard await startMetrics(wanted) else {
            metrics = former
            if former?.boundEndpoint == wanted.bind {
                metrics = nil
                _ = await startMetrics(configuration.metrics)
            }
            return false
        }
        await former?.stop()
        return true
    }

    private func snapshot() async -> MetricsSnapshot {
        MetricsSnapshot(
            listeners: await reconciler.counters(), reload: reloads,
            build: BuildInfo(version: Version.number, kernelModes: Version.hasKernelModes),
            startTimeSeconds: started.secondsSinceEpoch)
    }
}

extension ListenerCounters {
    /// The ledger, for the log.
    var totals: Logger.Metadata {
        var result: Logger.Metadata = [
            "listener": "\(listener)", "received": "\(packetsReceived)",
            "forwarded": "\(packetsForwarded)", "dropped": "\(packetsDropped)",
            "kernel_drops": "\(kernelDrops)",
        ]
        for (reason, count) in drops where count > 0 {
            result["dropped_\(reason.rawValue)"] = "\(count)"
        }
        return result
    }
}
