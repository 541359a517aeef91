// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import FanoutMetrics
internal import LinuxNet
internal import Logging

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

    /// A sign of life with the counters, for whoever reads the debug log.
    func beat() async {
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
