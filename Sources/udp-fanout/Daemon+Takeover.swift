// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutControlSocket
internal import FanoutCore
internal import FanoutMetrics
internal import Glibc
internal import LinuxNet
internal import Logging
internal import UserspacePlane

// The side of the daemon that takes another one's place. Until `finish` the other one can go on as if
// nothing had been; so whatever fails here, nothing is lost.

/// Why a place is not taken.
private struct TakeoverRefusal: Error, CustomStringConvertible {
    let description: String
}

extension Daemon {
    /// How long it may take to find out who the receivers are.
    private static let patience = Duration.seconds(10)

    /// Starts in the place of a daemon that runs.
    ///
    /// - Returns: whether it does; otherwise the other one goes on, and the reason has been logged.
    func takeOver(from oldProcess: OldProcess) async -> Bool {
        logger.info(
            "taking over",
            metadata: [
                "pid": "\(oldProcess.report.pid)", "version": "\(oldProcess.report.version)",
                "sockets": "\(oldProcess.report.sockets.count)",
            ])
        var hasReleased = false
        do {
            await health.assume(unhealthy: oldProcess.unhealthy)
            await discoverAtStart()
            let settling = Task {
                await discovery.settle(configuration.state, within: Self.patience)
            }
            self.settling = settling
            await settling.value
            try stayWanted()
            try await probe(configuration)
            try await expectReceivers(oldProcess.report.serving)
            try oldProcess.release()
            hasReleased = true
            try await follow(configuration)
            metrics = try await serve(configuration.metrics)
            try stayWanted()
            try openControl(configuration.control, takingOver: true)
            if try !oldProcess.finish(unused: inheritance.sockets?.untaken ?? []) {
                logger.warning(
                    "the old daemon does not answer any more; it ends as soon as it goes on",
                    metadata: ["pid": "\(oldProcess.report.pid)"])
            }
            inheritance.oldProcess = nil
            await keepLastKnownReceivers()
            await reconciler.removeLeftovers()
        } catch {
            if hasReleased { await reconciler.relinquish(Set(ForwardingMode.allCases)) }
            await discovery.stop(keeps: false)
            await health.stop()
            await metrics?.stop()
            oldProcess.giveUp()
            // The programs of this process have nothing more to count.
            if hasReleased { logTotals(await reconciler.stop()) }
            control?.stop()
            logger.error(
                oldProcess.hasEnded
                    ? "not taken over, and the daemon before has ended: start one"
                    : "not taken over, the daemon before goes on", metadata: ["error": "\(error)"])
            return false
        }
        if oldProcess.hasEnded {
            logger.warning(
                "the daemon before ended by itself in mid-takeover; this one serves in its place",
                metadata: ["pid": "\(oldProcess.report.pid)"])
        }
        return true
    }

    /// How long an old daemon that ends may keep what this one needs.
    private static let patienceWithOld = Duration.seconds(20)

    /// Does something for the start, and does it again while an old daemon that is about to end has a port or a
    /// hook of it. Only a process that was to take over waits.
    func afterOld<Value: Sendable>(
        _ attempt: (isolated Daemon) async throws -> Value
    ) async throws -> Value {
        let end = ContinuousClock.now + Self.patienceWithOld
        var isWaiting = false
        while true {
            do {
                return try await attempt(self)
            } catch {
                let isTaken =
                    switch error {
                    case let error as PlaneError: error.code == EADDRINUSE || error.code == EBUSY
                    case let error as MetricsServerError: error.code == EADDRINUSE
                    default: false
                    }
                guard inheritance.isAfterEnd, isTaken, !isUnwanted, .now < end else { throw error }
                if !isWaiting {
                    logger.info(
                        "waiting for the old daemon to end", metadata: ["error": "\(error)"])
                }
                isWaiting = true
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// Whoever ends this process in mid-takeover wants the daemon before to go on.
    private func stayWanted() throws {
        guard isUnwanted else { return }
        throw TakeoverRefusal(description: "a signal ended this process before it was done")
    }

    /// Listeners that look their receivers up must have found some, if the daemon before has some.
    private func expectReceivers(_ serving: [String]) async throws {
        let state = configuration.state.applying(await discovery.view())
            .applying(await reconciler.view.drains).applying(await health.view())
        for listener in state.listeners
        where listener.discovery != nil && serving.contains(listener.name)
            && !listener.downstreams.contains(where: \.isReady)
        {
            throw TakeoverRefusal(
                description: "listener \(listener.name) has no receiver, and the daemon before has "
                    + "some: see what discovery says above")
        }
    }

    /// Has the service manager keep the sockets in service for the next start.
    func keepSockets() async {
        inheritance.store.keep(await userspace.sockets(), by: service)
    }
}

extension OldProcess {
    var unhealthy: Set<Endpoint> {
        Set(report.unhealthy.compactMap { try? Endpoint(parsing: $0) })
    }

    var drains: DrainList {
        DrainList(
            Set(
                report.drained.map {
                    DrainList.Entry(listener: $0.listener, downstream: $0.receiver)
                }))
    }
}
