// SPDX-License-Identifier: Apache-2.0

public import BPFRuntime
internal import CNet
public import FanoutCore
internal import Glibc
public import KernelForwarding
internal import LinuxNet
public import Logging
internal import XDPSockets

/// Forwarding past the network stack: see bpf/xdp_steer.bpf.c for how a datagram gets to a worker, and
/// AFXDPWorker.swift for its way through one.
///
/// One program serves all listeners of an interface, and one worker each of its receive queues. A change
/// of receivers builds a table for each worker beside the one in force, and has the worker take it
/// between two batches.
public actor AFXDPPlane: DataPlane {
    public static let mode = ForwardingMode.afXDP

    let logger: Logger
    let source: ProgramSource
    var listeners: [Listener] = []
    /// By the number of the interface.
    var served: [UInt32: ServedInterface] = [:]
    /// What the tables in force were made for.
    var network: NetworkView?
    var links = LinkLayer()
    var reach: ReachLog
    var netlink: Netlink?
    /// The ways to receivers, which the planes of a daemon share.
    let memory: PathMemory
    var anticipated: Anticipated<(NetworkView, LinkLayer)>?
    var watch: NetworkWatch?
    var clock: Task<Void, Never>?
    /// What was counted in rows that are no more, by listener.
    var past: [String: Past] = [:]
    /// Interfaces by which frames would go out, had they a queue for it: why they have not.
    var closed: [UInt32: String] = [:]
    /// Queues of interfaces that nothing is served on, which workers have to send by.
    var claimed: Set<InterfaceQueue> = []
    /// Whether some worker found no such queue free although one was given up meanwhile.
    var isShort = false
    private let thread = PlaneThread(name: "af_xdp")

    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the actor keeps its thread.
        unsafe thread.asUnownedSerialExecutor()
    }

    /// - Parameters:
    ///   - source: where the kernel program comes from.
    ///   - memory: what the planes know which follow the same changes.
    public init(
        logger: Logger, source: ProgramSource = .embedded, memory: PathMemory = PathMemory()
    ) {
        self.logger = logger
        self.memory = memory
        self.source = source
        reach = ReachLog(logger: logger, needsForwarding: false)
    }

    /// Asks for the ways to receivers.
    public func anticipate(_ change: Change) {
        guard !change.isEmpty, let watch else { return }
        let next = change.applied(to: listeners)
        anticipated = (try? look(for: next, since: watch.recently)).map {
            Anticipated($0, for: next)
        }
    }

    public func check(_ change: Change) throws(PlaneError) {
        let next = change.applied(to: listeners)
        try look(for: next, since: .now).0.checkInterfaces(of: change)
    }

    public func apply(_ change: Change) throws(PlaneError) {
        try follow()
        let next = change.applied(to: listeners)
        let (network, links) = try anticipated(for: next)
        try network.checkInterfaces(of: change)
        let isFirst = served.isEmpty
        do throws(PlaneError) {
            try bring(to: next, on: network, links)
        } catch {
            // Another way of attaching, or of waiting for packets, takes the former off first.
            if !isFirst, served.count < wanted(on: network) {
                try? bring(to: listeners, on: network, links)
            }
            throw error
        }
        for pair in change.retargeted {
            logger.info(
                "updated af_xdp downstream set",
                metadata: [
                    "listener": "\(pair.to.name)", "downstreams": "\(pair.to.downstreams.count)",
                ])
        }
        if isFirst, !served.isEmpty { logInitialized() }
    }

    /// How many interfaces the listeners in force have.
    private func wanted(on network: NetworkView) -> Int {
        Set(listeners.compactMap { network.interface(named: $0.interface)?.index }).count
    }

    private func logInitialized() {
        let workers = served.values.flatMap(\.workers)
        logger.info(
            "AF_XDP path initialized",
            metadata: [
                "listeners": "\(listeners.count)", "interfaces": "\(served.count)",
                "workers": "\(workers.count)",
                "zero_copy": "\(workers.allSatisfy(\.ingress.isZeroCopy))",
                "kib_per_queue": "\((workers.first?.shape.bytes ?? 0) >> 10)",
            ])
    }

    public func stop() -> [ListenerCounters] {
        unfollow()
        for interface in served.values { interface.detach() }
        Socket.settleTurnedAway()
        for interface in served.values { interface.workers.forEach(end) }
        let last = counters()
        end()
        return last
    }

    /// A queue has one socket, so the successor can open its own only when these are closed. Packets pass to
    /// the network stack in between.
    public func relinquish() {
        unfollow()
        for interface in served.values { interface.detach() }
        Socket.settleTurnedAway()
        retire(served.values.flatMap(\.workers))
        served = [:]
    }

    public func reclaim() throws(PlaneError) {
        guard !listeners.isEmpty else { return }
        try follow()
        let (network, links) = try look(for: listeners, since: .now)
        try bring(to: listeners, on: network, links)
    }

    /// Ends what is left.
    func end() {
        served = [:]
        network = nil
        listeners = []
        past = [:]
        closed = [:]
        reach.forget()
    }

    public func counters() -> [ListenerCounters] {
        listeners.map { listener in
            var result = ListenerCounters(listener: listener.name, mode: .afXDP)
            let before = past[listener.name]
            if let before { result.add(before.listener) }
            if let before { result.departed = before.receivers.departed }
            result.downstreams = listener.downstreams.map { downstream in
                var counts = DownstreamCounters(downstream)
                if let known = before?.receivers[downstream.endpoint] { counts.add(known) }
                return counts
            }
            for interface in served.values where interface.hook.interface.name == listener.interface
            {
                result.workers += interface.workers.count
                for worker in interface.workers { result.add(worker, of: listener) }
            }
            return result
        }
    }
}

extension ListenerCounters {
    /// Adds what one worker counted, for the downstreams that are in the list.
    mutating func add(_ worker: QueueWorker, of listener: Listener) {
        guard let rows = worker.prepared.rows[listener.name] else { return }
        add(rows.own.counters)
        for place in downstreams.indices {
            guard let row = rows.receivers[downstreams[place].endpoint] else { continue }
            downstreams[place].add(row.counters)
        }
    }
}

// Interfaces come and go, addresses, routes and neighbours change. The kernel tells of it, but for the number
// of queues; the plane looks again, and where that makes a difference it leads programs, sockets and
// tables there.

extension AFXDPPlane {
    /// How often the neighbours in use are asked for, and queues are counted.
    private static let period = Duration.seconds(2)

    /// The network as it is, for these listeners.
    ///
    /// - Parameter since: the way to a receiver is not to be older.
    func look(
        for listeners: [Listener], since: ContinuousClock.Instant
    ) throws(PlaneError) -> (NetworkView, LinkLayer) {
        let receivers = listeners.flatMap { $0.downstreams.map(\.endpoint.address) }
        let known = Dictionary(
            served.values.map { ($0.hook.interface.name, $0.hook.interface.index) }
        ) { first, _ in first }
        do throws(NetlinkError) {
            if netlink == nil { netlink = try Netlink() }
            let network = try NetworkView.ask(
                &netlink!, names: Set(listeners.compactMap(\.interface)), known: known,
                receivers: Set(receivers), memory: memory, since: since)
            let links = try LinkLayer.ask(
                &netlink!, paths: Array(network.paths.values), queues: Self.queues)
            return (network, links)
        } catch {
            throw PlaneError(looking: error)
        }
    }

    private static func queues(_ name: String) -> (receive: UInt32, transmit: UInt32)? {
        var (receive, transmit): (UInt32, UInt32) = (0, 0)
        // SAFETY: the name is read, and both numbers written, before the call returns.
        guard unsafe cnet_queues(name, &receive, &transmit) == 0 else { return nil }
        return (receive, transmit)
    }

    /// The network as it was seen for this change already, or else as it is.
    func anticipated(for listeners: [Listener]) throws(PlaneError) -> (NetworkView, LinkLayer) {
        defer { anticipated = nil }
        if let seen = anticipated?.seen(for: listeners) { return seen }
        return try look(for: listeners, since: watch?.recently ?? .now)
    }

    /// Begins to follow the network, unless it is followed already. What changes after this has an event.
    func follow() throws(PlaneError) {
        guard watch == nil else { return }
        watch = try NetworkWatch { [weak self] since, _ in
            await self?.refresh(since: since) ?? true
        }
        clock = Task { [weak self] in
            while (try? await Task.sleep(for: Self.period)) != nil {
                guard let self else { return }
                await self.tick()
            }
        }
    }

    func unfollow() {
        watch?.stop()
        watch = nil
        clock?.cancel()
        clock = nil
        netlink = nil
        anticipated = nil
    }

    /// Looks at the network and follows what has changed.
    ///
    /// - Parameter since: when that was.
    /// - Returns: false when that did not work out; what was served before still is.
    private func refresh(
        since: ContinuousClock.Instant = .now, isRetrying: Bool = false
    ) -> Bool {
        anticipated = nil
        // An event may still be on its way here when the queues have been left to another process.
        guard watch != nil, !listeners.isEmpty else { return true }
        do throws(PlaneError) {
            let (now, below) = try look(for: listeners, since: since)
            keepNeighbours(now)
            guard now != network || below != links || isRetrying else { return true }
            logGone(now)
            try bring(to: listeners, on: now, below)
            return true
        } catch {
            logger.error("the network's change is not followed", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Now and then: what the kernel does not tell of.
    private func tick() {
        _ = refresh(isRetrying: isShort || !closed.isEmpty)
        guard watch != nil else { return }
        for interface in served.values { interface.restoreIfDetached() }
    }

    /// Keeps the neighbours that lead to receivers, and has those found that are not known yet.
    func keepNeighbours(_ network: NetworkView) {
        guard netlink != nil else { return }
        LinkLayer.use(Set(network.paths.values.compactMap(\.hop)), &netlink!)
    }

    private func logGone(_ now: NetworkView) {
        for interface in served.values.map(\.hook.interface)
        where now.interface(named: interface.name) == nil {
            logger.warning(
                "interface is gone, its listeners wait for it to come back",
                metadata: [
                    "interface": "\(interface.name)", "ifindex": "\(interface.index)",
                ])
        }
    }
}
