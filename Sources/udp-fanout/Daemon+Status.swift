// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import FanoutMetrics
internal import LinuxNet
internal import Logging

extension Daemon {
    /// Reads the counters each second, for rates, replies of receivers and passive health.
    func measure() async {
        var replies = ReplyWatch()
        var refusals = RefusalWatch()
        repeat {
            let counters = await reconciler.counters()
            let now = ContinuousClock.now
            meter.note(counters, at: now)
            history.note(counters, at: now)
            replies.note(counters, logger)
            refusals.note(counters, at: .now, logger)
            let suspects = await health.note(counters, at: .now)
            if !suspects.isEmpty { await reconciler.tryOut(suspects) }
        } while (try? await Task.sleep(for: .seconds(1))) != nil
    }

    /// The state for `/metrics`, the status page and the control socket.
    func snapshot() async -> DaemonSnapshot {
        let view = await reconciler.view
        var snapshot = DaemonSnapshot(
            listeners: await reconciler.counters(), queues: await reconciler.queueCounters(),
            events: await reconciler.events(),
            health: configuration.health.summary == nil ? nil : await health.report,
            discovery: await discoveryReport, reload: reloads,
            build: BuildInfo(version: Version.number, kernelModes: Version.hasKernelModes),
            startTimeSeconds: started.secondsSinceEpoch)
        snapshot.process = ThisProcess.number
        snapshot.uptime = .nanoseconds(Int64(MonotonicClock.now - startedTicks))
        snapshot.path = file?.path
        snapshot.configured = view.configured.listeners
        snapshot.active = view.active.listeners
        snapshot.drains = view.drains
        snapshot.outOfReach = await reconciler.obstructions().outOfReach
        snapshot.healthChecks = configuration.health.summary
        snapshot.attachments = await reconciler.attachments()
        snapshot.transmitErrors = await reconciler.transmitErrors()
        snapshot.meter = meter
        snapshot.history = history
        return snapshot
    }

    /// nil when no listener uses discovery.
    private var discoveryReport: DiscoveryReport? {
        get async {
            let report = await discovery.report
            return report.sources.isEmpty ? nil : report
        }
    }
}

extension Daemon {
    /// Why it does not serve now, in one line; nil when every listener does.
    ///
    /// A listener serves if it is open and its interface exists, is up and has an address for it. With discovery,
    /// the source must also have answered once, or there must be last-known receivers.
    var obstacle: String? {
        get async {
            switch stage {
            case .starting: return "starting"
            case .stopping: return "stopping"
            case .serving: break
            }
            let view = await reconciler.view
            let open = Set(view.active.listeners.map(\.name))
            if let closed = configuration.listeners.first(where: { !open.contains($0.name) }) {
                return "listener \(closed.name) is not open"
            }
            if let unknown = view.unknown.min() {
                return "no answer yet from \(unknown)"
            }
            let idle = await reconciler.obstructions().first { $0.receivers.isEmpty }
            return idle.map { "listener \($0.listener) serves nothing: \($0.reason)" }
        }
    }
}

extension Daemon {
    /// Notifies the service manager that it is ready, with a summary.
    func announceReady() {
        service.ready()
        let listeners = configuration.listeners
        let receivers = listeners.reduce(0) { $0 + $1.downstreams.count }
        let state = reloads.lastSuccessful ? "" : "; the last reload failed"
        service.status("\(listeners.count) listeners, \(receivers) receivers\(state)")
    }

    /// Checks that every worker makes progress, for health checks and the service manager's watchdog. While a worker
    /// hangs or a data plane does not answer, the watchdog is not notified.
    func watchProgress() async {
        let interval = service.watchdog.map { $0 / 4 } ?? .milliseconds(2500)
        var watch = ProgressWatch()
        var isStuck = false
        repeat {
            let stuck = watch.note(await reconciler.progress())
            guard !Task.isCancelled else { break }
            liveness.note(stuck: stuck, at: MonotonicClock.now)
            if stuck.isEmpty {
                if service.watchdog != nil { service.alive() }
            } else if !isStuck {
                logger.error(
                    service.watchdog == nil
                        ? "workers hang" : "workers hang; watchdog notifications stop",
                    metadata: ["workers": "\(stuck.joined(separator: ","))"])
            }
            isStuck = !stuck.isEmpty
        } while (try? await Task.sleep(for: interval)) != nil
        liveness.end()
    }

    /// Logs the counters from time to time, at level debug.
    func logCounters() async {
        while (try? await Task.sleep(for: .seconds(5))) != nil {
            guard logger.logLevel <= .debug else { continue }
            for counts in await reconciler.counters() where counts.mode == .userspace {
                var fields = counts.totals
                fields["downstreams"] = "\(counts.downstreams.count)"
                logger.debug("userspace worker heartbeat", metadata: fields)
            }
        }
    }

    /// Returns unused memory to the kernel: changes leave free fragments in the heaps.
    func returnMemory() async {
        while (try? await Task.sleep(for: .seconds(30))) != nil { await Self.trimHeaps() }
    }

    /// Runs outside the actor, so that other calls do not wait.
    @concurrent private static func trimHeaps() async { ThisProcess.trimHeaps() }
}

extension ListenerCounters {
    /// The counters, for the log.
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
