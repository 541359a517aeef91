// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutControlSocket
internal import FanoutCore
internal import FanoutMetrics
internal import LinuxNet
internal import Logging

// A reload is all or nothing: the file is read and checked, the metrics server opens, the receivers are
// probed as it says, the data planes follow. Whatever fails, the steps before it are undone, and one line says why.

extension Daemon {
    func performReload() async {
        guard let path else { return }
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
        let report = ConfigurationReport(path: path)
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
            try await probe(next)
            let change = try await follow(next)
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
            // Probes that could not begin have changed nothing.
            await discover(configuration)
            if error is PlaneError { await rollBackProbes() }
            reloadFailed(problems(of: error, in: next))
        }
    }

    /// Puts a configuration that comes from elsewhere than the file into force.
    ///
    /// - Returns: whether it is in force; otherwise the one before is, and the log says why.
    func adopt(_ next: Configuration) async -> Bool {
        await enqueue { daemon in
            do throws(PlaneError) {
                daemon.reloadSucceeded(next, try await daemon.follow(next))
            } catch {
                daemon.reloadFailed(["\(error)"])
            }
        }
        return configuration == next
    }

    /// Says that what was to come into force cannot.
    func refuse(_ reason: String) { reloadFailed([reason]) }

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
