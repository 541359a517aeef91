// SPDX-License-Identifier: Apache-2.0

internal import FanoutConfig
internal import FanoutControl
internal import FanoutCore
internal import FanoutMetrics
internal import Glibc
internal import LinuxNet
internal import Logging
internal import UserspacePlane

// The new daemon's side of a takeover. Until `finish` the old daemon can continue unchanged, so a failure here loses
// nothing.

/// Why a takeover is aborted.
private struct TakeoverRefusal: Error, CustomStringConvertible {
    let description: String
}

extension Daemon {
    /// Longest wait for the receivers of new sources.
    private static let patience = Duration.seconds(10)

    /// Starts by taking over from a running daemon.
    ///
    /// - Returns: whether it succeeded; otherwise the old daemon continues, and the reason has been logged.
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
                await discovery.settle(configuration.desiredState, within: Self.patience)
            }
            self.settling = settling
            await settling.value
            try stayWanted()
            try await expectReceivers(oldProcess.report.serving)
            try oldProcess.release()
            hasReleased = true
            try await apply(configuration)
            metrics = try await serve(configuration.metrics)
            try stayWanted()
            try openControl(configuration.control, takingOver: true)
            if try !oldProcess.finish(unused: inheritance.sockets?.untaken ?? []) {
                logger.warning(
                    "the old daemon no longer answers; it ends when it runs again",
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
            // The programs of this process count nothing more.
            if hasReleased { logTotals(await reconciler.stop()) }
            control?.stop()
            logger.error(
                oldProcess.hasEnded
                    ? "takeover aborted, and the old process has ended: start the daemon"
                    : "takeover aborted; the old process continues", metadata: ["error": "\(error)"]
            )
            return false
        }
        if oldProcess.hasEnded {
            logger.warning(
                "the old process ended during the takeover; this one serves in its place",
                metadata: ["pid": "\(oldProcess.report.pid)"])
        }
        return true
    }

    /// How long an ending daemon may keep ports and hooks that this one needs.
    private static let patienceWithOld = Duration.seconds(20)

    /// Runs a step of the start, and retries it while an ending daemon still holds a port or hook. Only a process that
    /// was started to take over waits.
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

    /// Aborts the takeover after a signal that ends this process; the old daemon then continues.
    private func stayWanted() throws {
        guard isUnwanted else { return }
        throw TakeoverRefusal(description: "a signal ended this process before it was done")
    }

    /// Expects that listeners with discovery have found receivers, if the old daemon has some.
    private func expectReceivers(_ serving: [String]) async throws {
        let state = try await reconciler.preview(
            configuration.desiredState, health: configuration.healthChecks)
        for listener in state.listeners
        where listener.discovery != nil && serving.contains(listener.name)
            && !listener.downstreams.contains(where: \.isReady)
        {
            throw TakeoverRefusal(
                description: "listener \(listener.name) has no receiver, and the old daemon has "
                    + "some: see the discovery messages above")
        }
    }

    /// Stores the sockets in service with the service manager for the next start.
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

// The old daemon's side of a takeover. It reads on until the new daemon is ready. When the new daemon fails, it takes
// back what it has released.

/// A process that is taking over from this one.
struct NewProcess {
    /// Its connection to the control socket.
    let client: Int
    /// Its pid; nil when unknown.
    let process: Int32?
    /// The modes whose planes this process has released to it.
    var modes: Set<ForwardingMode> = []
    /// Whether the configuration changed meanwhile.
    var isReloadDue = false
}

extension Daemon: TakeoverHost {
    /// How long a stop waits for a takeover to end.
    private static let newProcessPatience = Duration.seconds(15)

    func carryOut(
        _ request: ControlRequest, for client: Int
    ) async -> (ControlResponse, descriptors: [Int32]) {
        let answer = await runInOrder { await $0.runSerially(request, for: client) }
        let ending = ControlFailure("the daemon is ending", remedy: "start it", mayRetry: true)
        return answer ?? (.failure(ending), [])
    }

    private func runSerially(
        _ request: ControlRequest, for client: Int
    ) async -> (ControlResponse, descriptors: [Int32]) {
        if let refusal = refusal(of: request) { return (.failure(refusal), []) }
        if let newProcess, newProcess.client != client {
            return (
                .failure(
                    ControlFailure(
                        "another process is taking over",
                        remedy: "wait until it is done, then ask the new daemon",
                        mayRetry: true)),
                []
            )
        }
        guard let step = request.step, (step == .begin) == (newProcess == nil) else {
            let remedy = "the steps are begin, release, switch and finish, in this order"
            return (.failure(ControlFailure("the step is out of order", remedy: remedy)), [])
        }
        switch step {
        case .begin: return await begin(for: client, request.process)
        case .release:
            await relinquish(Set(ForwardingMode.allCases.filter(\.needsInterface)))
            await metrics?.stop()
        case .switch: await relinquish([.userspace])
        case .finish:
            await relinquish(Set(ForwardingMode.allCases))
            let unused = (request.unused ?? []).compactMap { try? Endpoint(parsing: $0) }
            await userspace.reclaim(Set(unused))
            await performHandover()
        case .abandon: await takeBack(from: client)
        }
        logger.debug(
            "takeover step done",
            metadata: ["step": "\(step.rawValue)"])
        let report = TakeoverReport(version: Version.number, pid: ThisProcess.number)
        return (.takeover(report), [])
    }

    private func begin(
        for client: Int, _ process: Int32?
    ) async -> (ControlResponse, descriptors: [Int32]) {
        newProcess = NewProcess(client: client, process: process)
        await reconciler.pause()
        let sockets = await userspace.sockets()
        let view = await reconciler.view
        let serving = view.active.listeners.filter { $0.downstreams.contains(where: \.isReady) }
        logger.info(
            "another process begins to take over",
            metadata: ["sockets": "\(sockets.map(\.descriptors.count).reduce(0, +))"])
        let report = TakeoverReport(
            version: Version.number, pid: ThisProcess.number,
            sockets: sockets.flatMap { listener in
                listener.descriptors.map { _ in listener.isSteered }
            },
            serving: serving.map(\.name),
            unhealthy: await health.view().unhealthy.map(\.description).sorted(),
            drained: view.drains.entries.sorted().map {
                TakeoverReport.Drain(listener: $0.listener, receiver: $0.downstream)
            })
        return (.takeover(report), sockets.flatMap(\.descriptors))
    }

    private func relinquish(_ modes: Set<ForwardingMode>) async {
        let now = modes.subtracting(newProcess?.modes ?? [])
        guard !now.isEmpty else { return }
        await reconciler.relinquish(now)
        newProcess?.modes.formUnion(now)
    }

    func takeoverBroke(of client: Int) async {
        await runInOrder { daemon in await daemon.takeBack(from: client) }
    }

    /// Waits for the end of a takeover before a stop. The new process does not know of the stop, and otherwise no
    /// process would serve for a while.
    func awaitNewProcess() async {
        let end = ContinuousClock.now + Self.newProcessPatience
        while newProcess != nil, stage == .serving, .now < end {
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return }
        }
    }

    /// - Parameter endsNext: whether this process is about to stop.
    func takeBack(from client: Int, endsNext: Bool = false) async {
        guard let newProcess, newProcess.client == client else { return }
        await reconciler.reclaim(newProcess.modes)
        if endsNext {
            self.newProcess = nil
            return
        }
        // Programs that the other process attached to other interfaces, or of modes that this one does not use.
        await reconciler.removeLeftovers()
        if newProcess.modes.contains(.tcEBPF) { await restartMetrics() }
        // The other process may have taken the path. The new socket opens before the old one closes, so that clients
        // always find a daemon.
        if let old = control, let new = try? startControl(at: old.path, takingOver: true) {
            control = new
            old.stop()
        }
        self.newProcess = nil
        await reconciler.resume()
        logger.warning("takeover by another process failed; this process continues")
        if newProcess.isReloadDue { await performReload() }
    }

    func takeoverEnded() async {
        control?.stop()
        logger.info("udp-fanout stopped")
        ThisProcess.exitNow(0)
    }
}
