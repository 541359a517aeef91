// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import FanoutMetrics
internal import LinuxNet
internal import Logging

extension Daemon {
    /// Starts the threads that a later reload may need, so that it cannot fail for lack of threads.
    func prepareThreads() -> Bool {
        // Without a file there are no reloads.
        guard file != nil || configuration.metrics.enabled else { return true }
        do throws(MetricsServerError) {
            try MetricsServer.prepare()
            return true
        } catch {
            logger.error("start-up failed", metadata: ["error": "\(error)"])
            inheritance.oldProcess?.giveUp()
            return false
        }
    }

    /// Starts the server that `wanted` asks for; nil when metrics are disabled.
    func serve(_ wanted: MetricsConfiguration) async throws(MetricsServerError) -> MetricsServer? {
        guard wanted.enabled else { return nil }
        return try await MetricsServer.start(
            bind: wanted.bind, path: wanted.path,
            names: wanted.serverNames + [ThisProcess.hostName], logger: logger,
            liveness: { [liveness] in liveness.obstacle(at: MonotonicClock.now) },
            readiness: { await self.obstacle }
        ) { await self.snapshot() }
    }

    /// Opens the server of another configuration. The previous server continues until it is stopped, unless both use
    /// the same port: one of their addresses may be the wildcard.
    ///
    /// - Throws: if it cannot be opened; the previous server then continues.
    func openMetrics(_ wanted: MetricsConfiguration) async throws(MetricsServerError) {
        let previous = metrics
        if let previous, wanted.enabled, previous.boundEndpoint.port == wanted.bind.port {
            await previous.stop()
        }
        do throws(MetricsServerError) {
            metrics = try await serve(wanted)
        } catch {
            await restart(previous)
            throw error
        }
    }

    /// Rolls `openMetrics` back: the previous server replaces the opened one.
    func rollBackMetrics(to previous: MetricsServer?) async {
        await metrics?.stop()
        await restart(previous)
    }

    /// Serves the active configuration again, after another process had the port.
    func restartMetrics() async { await restart(metrics) }

    /// Serves the active configuration again, with `previous` if that was never closed.
    private func restart(_ previous: MetricsServer?) async {
        metrics = previous
        guard let previous, await previous.isStopped else { return }
        do throws(MetricsServerError) {
            metrics = try await serve(configuration.metrics)
        } catch {
            metrics = nil
            logger.error("metrics server error", metadata: ["error": "\(error)"])
        }
    }
}
