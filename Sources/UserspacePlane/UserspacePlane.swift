// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import LinuxNet
public import Logging

/// Forwarding with sockets, for any user: see UserspaceWorker.swift for a datagram's way through it.
public actor UserspacePlane: DataPlane {
    public static let mode = ForwardingMode.userspace

    private var groups: [String: ListenerGroup] = [:]
    private let logger: Logger
    private let steerings: [any WorkerSteering]
    private let cpus: [Int]
    /// Where the next pinned worker goes, so that listeners with one worker each spread over the CPUs.
    private var nextCPU = 0

    /// - Parameter steerings: how to have each source meet one worker, the first that works; when
    ///   none does, the kernel chooses.
    public init(logger: Logger, steerings: [any WorkerSteering] = [ClassicSteering()]) {
        self.logger = logger
        self.steerings = steerings
        cpus = CPUAffinity.allowed
    }

    public func apply(_ change: Change) throws(PlaneError) {
        // Everything that can fail comes first; what it built frees itself when it throws.
        var opened: [ListenerGroup] = []
        let toOpen = change.added + change.replaced.map(\.to)
        prepareSteering(toOpen)
        for listener in toOpen {
            opened.append(try prepare(listener))
        }
        var retargeted: [(ListenerGroup, Listener, [PreparedTable])] = []
        for pair in change.retargeted {
            guard let group = groups[pair.to.name] else { continue }
            retargeted.append((group, pair.to, try group.prepare(pair.to)))
        }

        try join(opened.filter(\.isJoining))

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
        for (group, listener, tables) in retargeted { group.adopt(listener, tables) }
        retire(leaving)
        for group in opened {
            if let former = leaving.first(where: { $0.listener.name == group.listener.name }) {
                group.inherit(from: former)
            }
            groups[group.listener.name] = group
        }
    }

    /// Should one of them fail, those before it have taken datagrams from the sockets in force, and
    /// forward them before they go.
    private func join(_ groups: [ListenerGroup]) throws(PlaneError) {
        for (index, group) in groups.enumerated() {
            do throws(PlaneError) {
                try group.join()
            } catch {
                let ending = groups[...index]
                for joined in ending { joined.open() }
                retire(Array(ending))
                for joined in ending {
                    groupSharing(joined.listener.bind)?.inherit(from: joined)
                }
                throw error
            }
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

    private func prepare(_ listener: Listener) throws(PlaneError) -> ListenerGroup {
        let isOurs = groupSharing(listener.bind) != nil
        var order: [Int] = []
        if listener.settings.pinCPUs {
            order = cpus.indices.map { cpus[(nextCPU + $0) % cpus.count] }
            nextCPU = (nextCPU + ListenerGroup.workerCount(listener)) % cpus.count
        }
        return try ListenerGroup(listener, joining: isOurs, cpus: order, logger: logger)
    }

    /// All of them wind down side by side.
    private func retire(_ leaving: [ListenerGroup]) {
        guard !leaving.isEmpty else { return }
        for group in leaving { group.turnAway() }
        Socket.settleTurnedAway()
        for group in leaving { group.endAfterQueue() }
        for group in leaving { group.finishRetiring() }
    }

    public func counters() -> [ListenerCounters] {
        groups.values.map { $0.counters() }.sorted { $0.listener < $1.listener }
    }

    public func progress() -> [WorkerProgress] {
        groups.values.flatMap { $0.workers.map(\.progress) }
    }

    public func stop() -> [ListenerCounters] {
        let leaving = groups.values.sorted { $0.listener.name < $1.listener.name }
        groups = [:]
        retire(leaving)
        return leaving.map { $0.counters() }
    }
}

extension Endpoint {
    /// Whether a datagram can be meant for both. `[::]` serves IPv4 as well.
    fileprivate func overlaps(_ other: Endpoint) -> Bool {
        guard port == other.port else { return false }
        func covers(_ wide: IPAddress, _ narrow: IPAddress) -> Bool {
            wide.isWildcard && (wide.family == .v6 || narrow.family == .v4)
        }
        return address == other.address || covers(address, other.address)
            || covers(other.address, address)
    }
}
