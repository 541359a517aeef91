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

extension Daemon {
    /// How long a start or a reload waits for the first receivers of a source that it brings: a listener whose
    /// source changes, and one for which kernel programs of a killed daemon forward or datagrams wait in
    /// sockets that were passed on, does not stand there without any.
    private static let settling = Duration.seconds(2)

    static func discovery(_ logger: Logger) -> DiscoveryMonitor {
        let sources = Sources(logger: logger) { Environment[$0] }
        return DiscoveryMonitor(logger: logger, hostAddresses: HostAddresses.all) {
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

    /// Leads health checks and data planes to the receivers that are found now.
    ///
    /// - Returns: whether they followed; everything is as it was otherwise.
    func discoveryChanged() async -> Bool {
        await enqueue { await $0.followDiscovery() }
        return isDiscoveryFollowed
    }

    private func followDiscovery() async {
        guard newProcess == nil else {
            isDiscoveryFollowed = false
            return
        }
        do {
            try await probe(configuration)
            ThisProcess.keepReserve(true)
            defer { ThisProcess.keepReserve(false) }
            log(try await reconciler.followDiscovery())
            isDiscoveryFollowed = true
        } catch {
            if error is PlaneError { await rollBackProbes() }
            logger.error("receivers that were found are not used", metadata: ["error": "\(error)"])
            isDiscoveryFollowed = false
        }
    }

    /// One line for each listener whose receivers are others.
    private func log(_ change: Change) {
        for pair in change.retargeted + change.replaced {
            guard let source = pair.to.discovery?.receivers else { continue }
            let (before, after) = (Set(pair.from.downstreams), Set(pair.to.downstreams))
            logger.info(
                "\(pair.to.mode.rawValue) \(source.kind) membership updated",
                metadata: [
                    "listener": "\(pair.to.name)", "source": "\(source)",
                    "downstreams": "\(after.count)",
                    "ready": "\(pair.to.downstreams.count(where: \.isReady))",
                    "added": "\(after.subtracting(before).count)",
                    "removed": "\(before.subtracting(after).count)",
                ])
        }
    }

    /// nil when no listener looks its receivers up.
    var discoveryReport: DiscoveryReport? {
        get async {
            let report = await discovery.report
            return report.sources.isEmpty ? nil : report
        }
    }
}

extension DiscoverySubject {
    /// What log messages call its kind.
    fileprivate var kind: String {
        switch self {
        case .endpointSlices, .loadBalancer: "k8s"
        case .file: "file"
        case .dns: "dns"
        case .fixed: "fixed"
        }
    }
}

extension Daemon {
    /// Has the health of a configuration's downstreams followed, by probes and by refusals, if it wants that.
    func probe(_ wanted: Configuration) async throws(HealthError) {
        let (policy, passive) = (wanted.health.policy, wanted.health.passivePolicy)
        let state = wanted.desiredState
        // Receivers whose health is not followed need not be made out.
        let isFollowed = policy != nil || passive != nil
        let followed = isFollowed ? state.applying(await discovery.view()) : state
        try await health.follow(policy, passive: passive, followed)
    }

    /// Undoes `probe`: the downstreams in force are probed again.
    func rollBackProbes() async {
        do throws(HealthError) {
            try await probe(configuration)
        } catch {
            logger.error("health checks have ended", metadata: ["error": "\(error)"])
        }
    }

    /// Leads the data planes to the shares that receivers have now which have not been ready for long.
    ///
    /// - Returns: whether they followed; everything is as it was otherwise.
    func shareRises() async -> Bool {
        guard newProcess == nil else { return false }
        do throws(PlaneError) {
            try await reconciler.followHealth()
            return true
        } catch {
            logger.error("a rise of shares is not followed", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Leads the data planes to the receivers that are healthy now.
    ///
    /// - Returns: whether they followed; everything is as it was otherwise.
    func healthChanged() async -> Bool {
        guard newProcess == nil else { return false }
        do throws(PlaneError) {
            try await reconciler.followHealth()
            return true
        } catch {
            logger.error("a change of health is not followed", metadata: ["error": "\(error)"])
            return false
        }
    }
}
