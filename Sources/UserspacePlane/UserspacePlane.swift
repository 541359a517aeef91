// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import LinuxNet
public import Logging

/// Forwarding with sockets, for any user; UserspaceWorker.swift describes a datagram's way.
public actor UserspacePlane: DataPlane {
    public static let mode = ForwardingMode.userspace

    var groups: [String: ListenerGroup] = [:]
    /// Groups whose sockets another process has; kept, so that their steering stays attached.
    var handedOver: [ListenerGroup] = []
    /// Sockets that the first listeners take over.
    var inherited: InheritedSockets?
    let logger: Logger
    private let steerings: [any WorkerSteering]
    private let cpus: [Int]
    private let thread = PlaneThread(name: "userspace")
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the actor keeps its thread.
        unsafe thread.asUnownedSerialExecutor()
    }
    /// The CPU of the next pinned worker, so that listeners with one worker each spread over the CPUs.
    private var nextCPU = 0

    /// - Parameters:
    ///   - steerings: ways to steer each source to one worker; the first that works is used. When all fail, the kernel
    ///     chooses.
    ///   - inherited: sockets from another process, for the listeners of the first change.
    public init(
        logger: Logger, steerings: [any WorkerSteering] = [ClassicSteering()],
        inherited: InheritedSockets? = nil
    ) {
        self.logger = logger
        self.inherited = inherited
        self.steerings = steerings
        cpus = CPUAffinity.allowed
    }

    public func apply(_ change: Change) throws(PlaneError) {
        // All that can fail comes first; what was created frees itself on an error.
        var opened: [ListenerGroup] = []
        var interim: [ListenerGroup] = []
        let toOpen = change.added + change.replaced.map(\.to)
        prepareSteering(toOpen)
        defer { steerings.first?.discard() }
        for listener in toOpen {
            let share = inherited?.take(listener.bind)
            if let share, share.descriptors.count != ListenerGroup.workerCount(listener) {
                interim.append(try prepare(listener, share))
                opened.append(try prepare(listener, joins: true))
            } else {
                opened.append(try prepare(listener, share))
            }
        }
        var retargeted: [(ListenerGroup, Listener, [PreparedTable])] = []
        for pair in change.retargeted {
            guard let group = groups[pair.to.name] else { continue }
            retargeted.append((group, pair.to, try group.prepare(pair.to)))
        }

        interim = try join(&opened, interim)
        try switchOver(opened)

        // From here on nothing fails. New sockets come first, so that an address that moves between listeners always
        // has one. They are steered while the old ones are still open, so that a source goes to its new worker as
        // soon as it has one.
        steer(opened)
        let leaving = (change.removed + change.replaced.map(\.from)).compactMap {
            groups.removeValue(forKey: $0.name)
        }
        for group in opened {
            group.open()
            group.logStart(logger)
        }
        for group in interim { group.open() }
        let previousLinks = retargeted.map { group, listener, tables in
            group.adopt(listener, tables)
        }
        logger.debug("packets use the new tables", metadata: ["mode": "userspace"])
        for ((group, _, _), links) in zip(retargeted, previousLinks) { group.keepCounts(of: links) }
        retire(leaving + interim)
        for group in opened {
            for previous in leaving + interim where previous.listener.name == group.listener.name {
                group.inherit(from: previous)
            }
            groups[group.listener.name] = group
        }
        inherited = nil
    }

    /// Closes inherited sockets that no listener has taken over.
    public func dropInherited() { inherited = nil }

    public func check(_ change: Change) throws(PlaneError) {
        // A datagram in a socket that joins another process's would be lost with it.
        for listener in change.added + change.replaced.map(\.to)
        where !listener.settings.sharePort && !joinsOurs(listener) {
            try ListenerGroup.check(listener, logger: logger)
        }
    }

    /// Binds the sockets of groups that join others of this process.
    ///
    /// - Parameter interim: groups on inherited sockets of another number than configured. They serve until the group
    ///   of the same name has joined them, and replace it when it cannot.
    /// - Returns: the groups of `interim` that are replaced.
    private func join(
        _ opened: inout [ListenerGroup], _ interim: [ListenerGroup]
    ) throws(PlaneError) -> [ListenerGroup] {
        var joined: [ListenerGroup] = []
        var leaving = interim
        for (index, group) in opened.enumerated() where group.isJoining {
            do throws(PlaneError) {
                try group.join()
                joined.append(group)
            } catch {
                guard
                    let place = leaving.firstIndex(where: {
                        $0.listener.name == group.listener.name
                    })
                else {
                    giveUp(joined + [group])
                    throw error
                }
                logger.warning(
                    "cannot open more sockets than the inherited ones; these are used as they are",
                    metadata: [
                        "listener": "\(group.listener.name)", "error": "\(error)",
                        "workers": "\(leaving[place].workers.count)",
                    ])
                opened[index] = leaving.remove(at: place)
            }
        }
        return leaving
    }

    /// Groups that have taken datagrams from the active sockets forward them before they end.
    private func giveUp(_ joined: [ListenerGroup]) {
        for group in joined { group.open() }
        retire(joined)
        for group in joined { groupSharing(group.listener.bind)?.inherit(from: group) }
    }

    /// Stops the old process from reading its inherited sockets.
    private func switchOver(_ opened: [ListenerGroup]) throws(PlaneError) {
        do throws(PlaneError) {
            try inherited?.switchOver()
        } catch {
            giveUp(opened.filter(\.isJoining))
            throw error
        }
    }

    private func prepareSteering(_ listeners: [Listener]) {
        for listener in listeners {
            let workers = ListenerGroup.workerCount(listener)
            guard Steered.isWanted(for: listener, workers: workers) else { continue }
            steerings.first?.prepare(workers: workers, of: listener)
        }
    }

    private func steer(_ opened: [ListenerGroup]) {
        for group in opened {
            let wasSteered = groups.values.contains {
                $0.listener.bind == group.listener.bind && $0.steered != nil
            }
            group.steer(by: steerings, wasSteered: wasSteered, logger: logger)
        }
    }

    private func groupSharing(_ bind: Endpoint) -> ListenerGroup? {
        groups.values.first { $0.listener.bind.overlaps(bind) }
    }

    /// Whether its sockets join, or will join, others of this process.
    private func joinsOurs(_ listener: Listener) -> Bool {
        groupSharing(listener.bind) != nil
            || inherited?.untaken.contains { $0.overlaps(listener.bind) } == true
    }

    private func prepare(
        _ listener: Listener, _ share: InheritedSockets.Share? = nil, joins: Bool = false
    ) throws(PlaneError) -> ListenerGroup {
        let isOurs = joins || joinsOurs(listener)
        var order: [Int] = []
        let workers = ListenerGroup.workerCount(listener)
        if listener.settings.pinCPUs, listener.settings.steer == .cpu {
            order = (0..<workers).map { worker in
                cpus.first { $0 % workers == worker } ?? cpus[worker % cpus.count]
            }
        } else if listener.settings.pinCPUs {
            order = cpus.indices.map { cpus[(nextCPU + $0) % cpus.count] }
            nextCPU = (nextCPU + workers) % cpus.count
        }
        return try ListenerGroup(
            listener, joining: share == nil && isOurs, cpus: order, inherited: share,
            logger: logger)
    }

    /// All of them are drained at the same time.
    func retire(_ leaving: [ListenerGroup]) {
        guard !leaving.isEmpty else { return }
        for group in leaving { group.turnAway() }
        Socket.settleTurnedAway()
        for group in leaving { group.endAfterQueue() }
        for group in leaving { group.awaitEnd() }
    }

    public func counters() -> [ListenerCounters] {
        groups.values.map { $0.counters() }.sorted { $0.listener < $1.listener }
    }

    public func tryOut(_ receivers: Set<Endpoint>) {
        for group in groups.values { group.tryOut(receivers) }
    }

    public func progress() -> [WorkerProgress] {
        groups.values.filter { !$0.isPaused }.flatMap { $0.workers.map(\.progress) }
    }

    public func stop() -> [ListenerCounters] {
        let leaving = groups.values.sorted { $0.listener.name < $1.listener.name }
        groups = [:]
        let paused = leaving.filter(\.isPaused)
        for group in paused { group.leave() }
        handedOver += paused
        retire(leaving.filter { !$0.isPaused })
        return leaving.map { $0.counters() }
    }
}

// A restart without loss: the new process gets the bound sockets themselves. This process stops reading only when
// the new one is ready, which then reads the rest of the queues. New sockets would not have these datagrams: a
// socket that is closed loses its queue.

/// The sockets of one listener.
public struct ListenerSockets: Sendable {
    public let bind: Endpoint
    /// One a worker; borrowed, and open as long as the listener is unchanged.
    public let descriptors: [Int32]
    /// Whether a program of their group steers each source to one of them.
    public let isSteered: Bool
}

extension UserspacePlane {
    /// The sockets of every listener.
    public func sockets() -> [ListenerSockets] {
        groups.values.sorted { $0.listener.name < $1.listener.name }.map { group in
            ListenerSockets(
                bind: group.listener.bind, descriptors: group.workers.map(\.descriptor),
                isSteered: group.steered != nil && group.listener.settings.steer == .sourceIP)
        }
    }

    public func relinquish() { pause(emptyingQueues: false) }

    /// Stops reading. When it returns this process takes no more datagrams from any socket.
    ///
    /// - Parameter emptyingQueues: whether to forward the queues first, with a time limit.
    public func pause(emptyingQueues: Bool) {
        let reading = groups.values.filter { !$0.isPaused }
        for group in reading { group.beginPause(emptyingQueue: emptyingQueues) }
        for group in reading { group.awaitPause() }
    }

    public func reclaim() { for group in groups.values { group.goOn() } }

    /// Continues with only the sockets of these addresses, which the new process does not serve.
    public func reclaim(_ binds: Set<Endpoint>) {
        for group in groups.values where binds.contains(group.listener.bind.withoutZone) {
            group.goOn()
        }
    }
}

extension ListenerGroup {
    func beginPause(emptyingQueue: Bool) {
        isPaused = true
        for worker in workers { worker.pause(emptyingQueue: emptyingQueue) }
    }

    func awaitPause() { for worker in workers { worker.awaitPause() } }

    func goOn() {
        guard isPaused else { return }
        for worker in workers { worker.open() }
        isPaused = false
    }

    /// Ends the paused workers, and leaves their sockets unchanged.
    func leave() { for worker in workers { worker.endPaused() } }
}
