// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import FanoutMetrics
internal import LinuxNet
internal import Logging

extension Daemon {
    /// Notes the counters each second: for rates, for what receivers send back, and for their health.
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

    func statusReport() async -> StatusReport {
        let counters = await reconciler.counters()
        let view = await reconciler.view
        let healthStatuses =
            configuration.health.summary == nil ? nil : await health.report.healthStatuses
        let outOfReach = await reconciler.obstructions().outOfReach
        let listeners = ListenerStatus.list(
            of: view.active, configured: view.configured, counters: counters, drains: view.drains,
            outOfReach: outOfReach, healthStatuses: healthStatuses, meter: meter)
        return StatusReport(
            version: Version.number, pid: ThisProcess.number, started: started.rfc3339,
            uptimeSeconds: (Double(MonotonicClock.now - startedTicks) / 1e9).coarse,
            config: path, reload: reloadState,
            health: configuration.health.summary,
            drained: view.drains.entries.sorted().map(\.description),
            rateSeconds: (meter.span / .seconds(1)).coarse, listeners: listeners,
            attachments: await reconciler.attachments().map {
                StatusReport.AttachmentStatus(
                    mode: $0.mode.rawValue, interface: $0.interface, hook: $0.hook)
            })
    }

    private var reloadState: StatusReport.ReloadState {
        let since = UInt64(max(0, reloads.lastSuccessTimestampSeconds) * 1e9)
        return StatusReport.ReloadState(
            lastSuccessful: reloads.lastSuccessful,
            inForceSince: WallClock(nanosecondsSinceEpoch: since).rfc3339,
            successes: reloads.successes, failures: reloads.failures)
    }
}

extension Double {
    /// To a tenth.
    fileprivate var coarse: Double { (self * 10).rounded() / 10 }
}

extension ListenerStatus {
    /// The listeners with their receivers. O(receivers).
    ///
    /// - Parameter configured: the same before drains and slow start, for the weights of the configuration.
    static func list(
        of active: DesiredState, configured: DesiredState, counters: [ListenerCounters],
        drains: DrainList, outOfReach: [String: Set<String>], healthStatuses: [Endpoint: Bool]?,
        meter: RateMeter
    ) -> [ListenerStatus] {
        let counts = Dictionary(counters.map { ($0.listener, $0) }) { $1 }
        let configured = Dictionary(configured.listeners.map { ($0.name, $0) }) { $1 }
        return active.listeners.map { listener in
            let own =
                counts[listener.name]
                ?? ListenerCounters(listener: listener.name, mode: listener.mode)
            let weights = Dictionary(
                (configured[listener.name] ?? listener).downstreams.map { ($0.endpoint, $0.weight) }
            ) { $1 }
            let receivers = Dictionary(own.downstreams.map { ($0.endpoint, $0) }) { $1 }
            let rates = meter.receiverRates(of: listener.name)
            var status = ListenerStatus(listener, own, meter.rates(of: listener.name))
            status.receivers = listener.downstreams.map { downstream in
                let entry = DrainList.Entry(listener: listener.name, downstream: downstream.name)
                return ReceiverStatus(
                    downstream, weight: weights[downstream.endpoint] ?? downstream.weight,
                    isDrained: drains.entries.contains(entry),
                    isWithinReach: outOfReach[listener.name]?.contains(downstream.name) != true,
                    isHealthy: healthStatuses?[downstream.endpoint], receivers[downstream.endpoint],
                    rates[downstream.endpoint] ?? Rates())
            }
            return status
        }
    }

    /// Without its receivers.
    fileprivate init(_ listener: Listener, _ counts: ListenerCounters, _ rates: Rates) {
        let drops = counts.drops.filter { $0.value > 0 }
        self.init(
            name: listener.name, bind: "\(listener.bind)",
            ports: listener.ports.count > 1 ? listener.ports : nil, mode: listener.mode.rawValue,
            balance: listener.balance.rawValue, interface: listener.interface,
            workers: counts.workers, packetsReceived: counts.packetsReceived,
            bytesReceived: counts.bytesReceived, packetsForwarded: counts.packetsForwarded,
            bytesForwarded: counts.bytesForwarded, packetsDropped: counts.packetsDropped,
            drops: Dictionary(uniqueKeysWithValues: drops.map { ($0.key.rawValue, $0.value) }),
            kernelDrops: counts.kernelDrops, repliesDropped: counts.repliesDropped,
            rates: RateStatus(rates), receivers: [])
    }
}

extension ReceiverStatus {
    fileprivate init(
        _ downstream: Downstream, weight: UInt16, isDrained: Bool, isWithinReach: Bool,
        isHealthy: Bool?,
        _ counts: DownstreamCounters?, _ rates: Rates
    ) {
        let state = ReceiverState(
            weight: downstream.weight, isReady: downstream.isReady, isDrained: isDrained,
            isWithinReach: isWithinReach)
        self.init(
            name: downstream.name, address: "\(downstream.endpoint)", state: state,
            healthy: isHealthy, weight: weight,
            weightInForce: downstream.isEnabled ? downstream.weight : 0,
            packetsForwarded: counts?.packetsForwarded ?? 0,
            bytesForwarded: counts?.bytesForwarded ?? 0,
            packetsDropped: counts?.drops.values.reduce(0, +) ?? 0,
            refusals: counts?.refusals ?? 0, rates: RateStatus(rates))
    }
}

extension Daemon {
    /// Why it does not serve at this moment, in one line; nil when every listener does.
    ///
    /// A listener serves when it is open, its interface is there, up and has an address for it, and, where its
    /// receivers are looked up, the source has answered once, be it that there is nobody, or it is known who
    /// received before.
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
                return "nothing is known yet of \(unknown)"
            }
            let idle = await reconciler.obstructions().first { $0.receivers.isEmpty }
            return idle.map { "listener \($0.listener) serves nothing: \($0.reason)" }
        }
    }
}

extension Daemon {
    /// Tells the service manager that everything runs, and what that is.
    func announceReady() {
        service.ready()
        let listeners = configuration.listeners
        let receivers = listeners.reduce(0) { $0 + $1.downstreams.count }
        let state = reloads.lastSuccessful ? "" : "; the last reload failed"
        service.status("\(listeners.count) listeners, \(receivers) receivers\(state)")
    }

    /// Looks whether every worker makes progress, for health checks and the manager's watchdog, which gets its signs of
    /// life as long as they do. A data plane that does not even answer stops them as well.
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
                        ? "workers hang" : "workers hang; the watchdog gets no sign of life",
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

    /// Gives memory back that nobody uses: changes come and go for as long as the process lives, and what they had
    /// is free in pieces here and there.
    func returnMemory() async {
        while (try? await Task.sleep(for: .seconds(30))) != nil { await Self.trimHeaps() }
    }

    /// Elsewhere than on the actor, which others wait for.
    @concurrent private static func trimHeaps() async { ThisProcess.trimHeaps() }
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
