// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import LinuxNet
public import Logging

/// Forwarding with sockets, for any user: see UserspaceWorker.swift for a datagram's way through it.
public actor UserspacePlane: DataPlane {
    public static let mode = ForwardingMode.userspace

    var groups: [String: ListenerGroup] = [:]
    /// Groups whose sockets another process has; kept, so that their steering stays attached.
    var handedOver: [ListenerGroup] = []
    /// Sockets to be taken over by the first listeners.
    var inherited: InheritedSockets?
    let logger: Logger
    private let steerings: [any WorkerSteering]
    private let cpus: [Int]
    private let thread = PlaneThread(name: "userspace")
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the actor keeps its thread.
        unsafe thread.asUnownedSerialExecutor()
    }
    /// Where the next pinned worker goes, so that listeners with one worker each spread over the CPUs.
    private var nextCPU = 0

    /// - Parameters:
    ///   - steerings: how to have each source meet one worker, the first that works; when none does, the
    ///     kernel chooses.
    ///   - inherited: sockets that another process has passed, for the listeners of the first change.
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
        // Everything that can fail comes first; what it built frees itself when it throws.
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

        // From here on nothing fails. New sockets first, so that an address which changes hands is
        // never without one. They are steered while the old ones are still there, so that a source
        // goes to its new worker as soon as it has one.
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
        logger.debug("packets meet the new tables", metadata: ["mode": "userspace"])
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

    /// Closes sockets that were passed and that no listener has taken: from here on they come from nowhere else.
    public func dropInherited() { inherited = nil }

    public func check(_ change: Change) throws(PlaneError) {
        // What the kernel gave to a socket that joins another process's would go with it.
        for listener in change.added + change.replaced.map(\.to)
        where !listener.settings.sharePort && !joinsOurs(listener) {
            try ListenerGroup.check(listener, logger: logger)
        }
    }

    /// Binds the sockets of groups that join others of ours.
    ///
    /// - Parameter interim: groups on inherited sockets whose number is not the one wanted. They serve
    ///   until the group of the same name has joined them, and in its place when it cannot.
    /// - Returns: those of `interim` that give way.
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
                    "no sockets can be opened beside those that were passed; they are used as they are",
                    metadata: [
                        "listener": "\(group.listener.name)", "error": "\(error)",
                        "workers": "\(leaving[place].workers.count)",
                    ])
                opened[index] = leaving.remove(at: place)
            }
        }
        return leaving
    }

    /// Groups that have taken datagrams from the active sockets forward them before they go.
    private func giveUp(_ joined: [ListenerGroup]) {
        for group in joined { group.open() }
        retire(joined)
        for group in joined { groupSharing(group.listener.bind)?.inherit(from: group) }
    }

    /// Stops the old process from reading the sockets that it has passed.
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

    /// Whether its sockets join others that are ours, or will be.
    private func joinsOurs(_ listener: Listener) -> Bool {
        groupSharing(listener.bind) != nil
            || inherited?.untaken.contains { $0.overlaps(listener.bind) } == true
    }

    private func prepare(
        _ listener: Listener, _ share: InheritedSockets.Share? = nil, joins: Bool = false
    ) throws(PlaneError) -> ListenerGroup {
        let isOurs = joins || joinsOurs(listener)
        var order: [Int] = []
        if listener.settings.pinCPUs {
            order = cpus.indices.map { cpus[(nextCPU + $0) % cpus.count] }
            nextCPU = (nextCPU + ListenerGroup.workerCount(listener)) % cpus.count
        }
        return try ListenerGroup(
            listener, joining: share == nil && isOurs, cpus: order, inherited: share,
            logger: logger)
    }

    /// All of them wind down side by side.
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

// A restart without loss: the successor gets the bound sockets themselves. This process stops reading only
// when the successor is ready, and what is in a socket's queue then is the successor's. Sockets that were
// made anew could not have it: a socket that is closed takes its queue with it.

/// The sockets of one listener.
public struct ListenerSockets: Sendable {
    public let bind: Endpoint
    /// One a worker; borrowed, and open as long as the listener is as it is.
    public let descriptors: [Int32]
    /// Whether a program of their group leads each source to one of them.
    public let isSteered: Bool
}

extension UserspacePlane {
    /// The sockets of every listener.
    public func sockets() -> [ListenerSockets] {
        groups.values.sorted { $0.listener.name < $1.listener.name }.map { group in
            ListenerSockets(
                bind: group.listener.bind, descriptors: group.workers.map(\.descriptor),
                isSteered: group.steered != nil)
        }
    }

    public func relinquish() { pause(emptyingQueues: false) }

    /// Stops reading. When it returns this process takes nothing more from any socket.
    ///
    /// - Parameter emptyingQueues: whether what is there already is forwarded first, as far as it comes to
    ///   an end.
    public func pause(emptyingQueues: Bool) {
        let reading = groups.values.filter { !$0.isPaused }
        for group in reading { group.beginPause(emptyingQueue: emptyingQueues) }
        for group in reading { group.awaitPause() }
    }

    public func reclaim() { for group in groups.values { group.goOn() } }

    /// Goes on with those at these addresses alone, which the successor does not serve.
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

    /// Ends the workers, which are paused, without touching their sockets.
    func leave() { for worker in workers { worker.endPaused() } }
}
