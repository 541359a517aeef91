// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import FanoutDiscovery
internal import FanoutMetrics
internal import LinuxNet
internal import Logging

// A reload is all or nothing: the file is read and checked, the metrics server opens, the receivers are
// probed as it says, the data planes follow. Whatever fails, the steps before it are undone, and one line says why.

extension Daemon {
    func performReload() async {
        guard let file else { return }
        guard newProcess == nil else {
            newProcess?.isReloadDue = true
            lastReload = ReloadReport(problems: [
                "another process is taking over; the file is read when that has failed, "
                    + "otherwise ask the one that runs then"
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
        // The second case: a server that could not come back after an earlier reload failed.
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
            "configuration not reloaded, the one before stays in force",
            metadata: ["error": "\(problems.joined(separator: " | "))"])
    }
}

extension Daemon {
    /// How long a start or a reload waits for the first receivers of a source that it brings: a listener whose
    /// source changes, and one for which kernel programs of a killed daemon forward or datagrams wait in
    /// sockets that were passed on, does not stand there without any.
    private static let settling = Duration.seconds(2)

    static func discovery(_ logger: Logger, _ signal: ChangeSignal) -> DiscoveryMonitor {
        let sources = Sources(logger: logger) { Environment[$0] }
        return DiscoveryMonitor(logger: logger, signal: signal, hostAddresses: HostAddresses.all) {
            sources.source(for: $0, lastKnown: $1)
        }
    }

    /// Has what is found kept beside the control socket, which no two daemons have.
    func keepLastKnownReceivers() async {
        await discovery.remember(in: control.map { memory(beside: $0.path) })
    }

    private func memory(beside path: String) -> LastKnownFile {
        LastKnownFile(path: "\(path).receivers", logger: logger)
    }

    /// What the old process has kept; at a takeover its file is beside the socket that it is asked by.
    private func remembered(_ state: DesiredState) -> DiscoveryView {
        var path = control?.path
        if inheritance.oldProcess != nil {
            path = configuration.control.socket ?? ControlPlace.own
        }
        return path.map { memory(beside: $0).recall(state) } ?? DiscoveryView()
    }

    /// Has the receivers of a configuration looked up.
    ///
    /// - Parameter former: what is looked up besides, as long as it may stay in force. Its receivers stay until
    ///   the sources that are new have answered.
    /// - Returns: what is worth a word of sources that have not.
    @discardableResult
    func discover(
        _ wanted: Configuration, besides previous: Configuration? = nil
    ) async -> [String] {
        guard let previous else {
            await discovery.follow([wanted.desiredState])
            return []
        }
        await discovery.follow([previous.desiredState, wanted.desiredState])
        return await discovery.settle(
            wanted.desiredState, after: previous.desiredState, within: Self.settling)
    }

    /// The same for a start, with what the old process has kept.
    func discoverAtStart() async {
        let state = configuration.desiredState
        await discovery.follow([state], after: remembered(state))
    }

    /// Waits for a start until the sources of a configuration have said who receives.
    func settleDiscovery(_ wanted: Configuration) async {
        await discovery.settleStart(wanted.desiredState, within: Self.settling)
    }
}
