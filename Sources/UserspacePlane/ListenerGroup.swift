// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet
internal import Logging

/// One listener in operation: its workers and its counters.
final class ListenerGroup {
    private(set) var listener: Listener
    private(set) var workers: [ListenerWorker]
    /// How its workers are steered; nil when the kernel chooses.
    private(set) var steered: Steered?
    /// The counters of workers that have ended.
    private var past: ListenerCounters
    private var pastOfReceivers = PastCounts<ReceiverSums>()

    /// Whether sockets of this process have the address already: then `join` binds this group's.
    let isJoining: Bool
    /// Whether its workers wait while another process may read from their sockets.
    var isPaused = false
    private let trials = Trials()
    /// Whether the inherited sockets have a program that steers them.
    private let wasSteered: Bool

    /// A group whose workers wait to be opened.
    ///
    /// - Parameters:
    ///   - joining: whether sockets of this process already have the address. A socket that is bound there takes
    ///     datagrams from them, so these are left unbound at first.
    ///   - cpus: the CPUs for the workers, in order; empty when they are not pinned.
    ///   - inherited: bound sockets to use, one a worker; nil to open as many as the listener wants.
    init(
        _ listener: Listener, joining: Bool, cpus: [Int],
        inherited: InheritedSockets.Share? = nil, logger: Logger
    ) throws(PlaneError) {
        self.listener = listener
        isJoining = joining
        wasSteered = inherited?.isSteered ?? false
        past = ListenerCounters(listener: listener.name, mode: listener.mode)
        workers = []
        let count = inherited?.descriptors.count ?? Self.workerCount(listener)
        let tables = try PreparedTable.make(for: listener, workers: count, existing: [])
        for index in 0..<count {
            let isFirst = index == 0 && !listener.settings.sharePort
            let sharing: PortSharing? = joining ? nil : isFirst ? .exclusive : .joining
            let socket =
                if let inherited {
                    try Self.adopt(inherited.descriptors[index], listener, logger)
                } else {
                    try Self.listen(listener, sharing: sharing, logger)
                }
            let plan = ListenerWorker.Plan(
                listener: listener, index: index,
                cpu: cpus.isEmpty ? nil : cpus[index % cpus.count], trials: trials)
            workers.append(
                try ListenerWorker(plan, socket: socket, table: tables[index], logger: logger))
        }
    }

    deinit {
        // Before the sockets are closed, which its program may refer to.
        steered = nil
    }

    static func workerCount(_ listener: Listener) -> Int {
        listener.settings.workers > 0 ? listener.settings.workers : CPUAffinity.allowed.count
    }

    /// Opens a listener's first socket, which does not share its port, and closes it.
    static func check(_ listener: Listener, logger: Logger) throws(PlaneError) {
        _ = try listen(listener, sharing: .exclusive, logger)
    }

    private static func listen(
        _ listener: Listener, sharing: PortSharing?, _ logger: Logger
    ) throws(PlaneError) -> Socket {
        do throws(SystemError) {
            let socket = try Socket.toListen(on: listener.bind)
            try prepare(socket, listener, logger)
            if let sharing { try socket.bind(to: listener.bind, sharing: sharing) }
            return socket
        } catch {
            throw PlaneError(binding: error, of: listener)
        }
    }

    private static func adopt(
        _ descriptor: Int32, _ listener: Listener, _ logger: Logger
    ) throws(PlaneError) -> Socket {
        do throws(SystemError) {
            let socket = try Socket.adoptingListener(descriptor)
            try prepare(socket, listener, logger)
            return socket
        } catch {
            throw PlaneError(binding: error, of: listener)
        }
    }

    private static func prepare(
        _ socket: borrowing Socket, _ listener: Listener, _ logger: Logger
    ) throws(SystemError) {
        socket.acceptSuperPackets()
        let key = listener.balance.keySource
        if key == .fourTuple || key == .payload, listener.bind.address.isWildcard {
            try socket.reportDestination(family: listener.bind.address.nativeFamily)
        }
        let wanted = listener.settings.receiveBufferBytes
        guard wanted > 0 else { return }
        let granted = try socket.requestReceiveBuffer(bytes: wanted)
        guard granted < wanted else { return }
        logger.warning(
            "the kernel caps the receive buffer; raise it with sysctl -w net.core.rmem_max",
            metadata: [
                "listener": "\(listener.name)", "recv_buf_size": "\(wanted)",
                "granted": "\(granted)",
            ])
    }

    /// Binds the sockets of a group that joins other sockets of this process. Datagrams arrive at them at once, so this
    /// is the last step that can fail.
    func join() throws(PlaneError) {
        for worker in workers { try worker.join() }
    }

    /// Lets the workers receive. Nothing can fail any more.
    func open() { for worker in workers { worker.open() } }

    /// Steers all datagrams of a source to one worker, if that is wanted and possible. The workers' sockets are bound.
    ///
    /// - Parameters:
    ///   - wasSteered: whether this process's other sockets of the address have been steered so far.
    func steer(
        by preferences: [any WorkerSteering], wasSteered: Bool, logger: Logger
    ) {
        if self.wasSteered, let kept = Steered(keptBy: self) {
            steered = kept
            return
        }
        steered = Steered(self, by: preferences, logger: logger)
        // A program belongs to the group and would outlive the sockets that it was made for. On a shared port it may
        // belong to another process.
        if steered == nil, wasSteered || self.wasSteered || !listener.settings.sharePort {
            try? ReuseportGroup(member: workers[0].descriptor).detachProgram()
        }
    }

    func logStart(_ logger: Logger) {
        var fields: Logger.Metadata = [
            "listener": "\(listener.name)", "bind": "\(listener.bind)",
            "balance": "\(listener.balance.rawValue)", "workers": "\(workers.count)",
            "downstreams": "\(listener.downstreams.count)",
        ]
        // A single worker gets everything.
        if workers.count > 1 {
            fields["steer"] = "\((steered == nil ? .kernel : listener.settings.steer).rawValue)"
            fields["by"] = "\(steered?.by ?? "kernel")"
        }
        logger.info("starting userspace forwarder", metadata: fields)
    }

    /// Prepares the tables for new downstreams or weights; changes nothing yet.
    func prepare(_ next: Listener) throws(PlaneError) -> [PreparedTable] {
        try PreparedTable.make(
            for: next, workers: workers.count, existing: workers.map(\.links))
    }

    /// Replaces the tables, worker by worker.
    ///
    /// - Returns: the previous links of each worker. Closing a thousand sockets takes a while, so the caller does it
    ///   after all listeners have their tables.
    func adopt(_ next: Listener, _ tables: [PreparedTable]) -> [[Endpoint: DownstreamLink]] {
        let previous = workers.map(\.links)
        trials.flags.clear()
        let done = zip(workers, tables).map { worker, table in worker.beginAdopting(table) }
        for (worker, done) in zip(workers, done) { worker.wait(for: done) }
        listener = next
        return previous
    }

    /// Sends one datagram each to those of `receivers` that are disabled.
    func tryOut(_ receivers: Set<Endpoint>) {
        for (index, downstream) in listener.downstreams.enumerated()
        where receivers.contains(downstream.endpoint) && !downstream.isEnabled
            && downstream.weight > 0
        {
            trials.flags.set(index)
        }
    }

    /// Takes over the counters of links to removed receivers.
    func keepCounts(of previous: [[Endpoint: DownstreamLink]]) {
        let present = Set(listener.downstreams.map(\.endpoint))
        for links in previous {
            for (endpoint, link) in links where !present.contains(endpoint) {
                pastOfReceivers.add(link.sums, of: endpoint)
            }
        }
        pastOfReceivers.settle(present: present)
    }

    /// Takes over the counters of a group that has ended.
    func inherit(from other: ListenerGroup) {
        past.add(other.counters())
        pastOfReceivers.add(other.pastOfReceivers)
        for worker in other.workers {
            for (endpoint, link) in worker.links {
                pastOfReceivers.add(link.sums, of: endpoint)
            }
        }
        pastOfReceivers.settle(present: listener.downstreams.map(\.endpoint))
    }

    func turnAway() { for worker in workers { worker.turnAway() } }

    func endAfterQueue() { for worker in workers { worker.endAfterQueue() } }

    func awaitEnd() { for worker in workers { worker.awaitEnd() } }

    func counters() -> ListenerCounters {
        var sum = past
        sum.workers = workers.count
        for worker in workers {
            sum.add(worker.counters)
            sum.kernelDrops += worker.kernelDrops
        }
        sum.departed = pastOfReceivers.departed
        sum.downstreams = listener.downstreams.map { downstream in
            var counts = DownstreamCounters(downstream)
            if let before = pastOfReceivers[downstream.endpoint] { counts.add(before) }
            for worker in workers {
                if let link = worker.links[downstream.endpoint] { counts.add(link.sums) }
            }
            return counts
        }
        if !listener.preserveSource {
            sum.repliesDropped = sum.downstreams.reduce(sum.departed.repliesDropped) {
                $0 &+ $1.repliesDropped
            }
        }
        return sum
    }
}
