// SPDX-License-Identifier: Apache-2.0

package import BPFRuntime
internal import CNet
package import FanoutCore
internal import Glibc
package import KernelForwarding
internal import LinuxNet
package import Logging
internal import XDPSockets

/// Forwarding past the network stack: bpf/xdp_steer.bpf.c describes how a datagram gets to a worker, AFXDPWorker.swift
/// its way through the worker.
///
/// One program serves all listeners of an interface, with one worker for each of its receive queues. A change of
/// receivers builds a new table for each worker, which the worker takes between two batches.
package actor AFXDPPlane: KernelPlane {
    package static let mode = ForwardingMode.afXDP

    package let state: KernelPlaneState
    let source: ProgramSource
    /// By the index of the interface.
    var served: [UInt32: ServedInterface] = [:]
    /// The counters of removed rows, by listener.
    var past: [String: Past] = [:]
    /// Output interfaces without a queue for sending, with the reason.
    var closed: [UInt32: String] = [:]
    /// Queues of interfaces without a listener, which workers send by.
    var claimed: Set<InterfaceQueue> = []
    /// Whether a worker found no such queue free although one was released meanwhile.
    var isShort = false
    private let thread = PlaneThread(name: "af_xdp")

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the actor keeps its thread.
        unsafe thread.asUnownedSerialExecutor()
    }

    /// - Parameters:
    ///   - source: where the kernel program comes from.
    ///   - memory: the cache of paths that the planes share.
    package init(
        logger: Logger, source: ProgramSource = .embedded, memory: PathMemory = PathMemory()
    ) {
        state = KernelPlaneState(
            logger: logger, memory: memory, needs: [],
            reach: ReachLog(logger: logger, needsForwarding: false))
        self.source = source
    }

    package var attachedHooks: [PinnedHook] { served.values.map(\.hook) }
    package var isServing: Bool { !served.isEmpty }

    package func complete(
        _ network: inout NetworkView, _ netlink: inout Netlink
    ) throws(NetlinkError) {
        network.links = try LinkLayer.ask(
            &netlink, paths: Array(network.paths.values), queues: Self.queues)
    }

    private static func queues(_ name: String) -> (receive: UInt32, transmit: UInt32)? {
        var (receive, transmit): (UInt32, UInt32) = (0, 0)
        // SAFETY: the name is read, and both numbers written, before the call returns.
        guard unsafe cnet_queues(name, &receive, &transmit) == 0 else { return nil }
        return (receive, transmit)
    }

    package func serve(_ next: [Listener], on network: NetworkView) throws(PlaneError) {
        do throws(PlaneError) {
            try open(next, on: network)
        } catch {
            // Another attach mode, or way to wait for packets, detaches the previous program first.
            let before = Set(
                listeners.compactMap { network.interface(named: $0.interface)?.index })
            if next != listeners, served.count < before.count {
                try? open(listeners, on: network)
            }
            throw error
        }
    }

    package func didServe(_ network: NetworkView) {
        let names = Set(listeners.map(\.name))
        past = past.filter { names.contains($0.key) }
        for listener in listeners {
            past[listener.name]?.receivers.settle(present: listener.downstreams.map(\.endpoint))
        }
        keepNeighbours()
    }

    /// Keeps the neighbours of receivers fresh, and makes the kernel resolve unknown ones.
    private func keepNeighbours() {
        state.use(Set(network?.paths.values.compactMap(\.hop) ?? []))
    }

    /// Reads the number of queues again, for which there is no event.
    package func tick() {
        refresh(isForced: isShort || !closed.isEmpty)
        guard state.isFollowing else { return }
        keepNeighbours()
        for interface in served.values { interface.restoreIfDetached() }
    }

    package func logInitialized() {
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

    package func detach() {
        guard !served.isEmpty else { return }
        for interface in served.values { interface.detach() }
        Socket.settleTurnedAway()
        for interface in served.values { interface.workers.forEach(end) }
    }

    /// A queue has one socket, so the next process can open its own only when these are closed. Packets pass to the
    /// network stack in between.
    package func release() {
        for interface in served.values { interface.detach() }
        Socket.settleTurnedAway()
        retire(served.values.flatMap(\.workers))
        served = [:]
    }

    package func forget() {
        served = [:]
        past = [:]
        closed = [:]
    }

    package func counters() -> [ListenerCounters] {
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
    /// Adds one worker's counters, for the downstreams in the list.
    mutating func add(_ worker: QueueWorker, of listener: Listener) {
        guard let rows = worker.prepared.rows[listener.name] else { return }
        add(rows.own.counters)
        for place in downstreams.indices {
            guard let row = rows.receivers[downstreams[place].endpoint] else { continue }
            downstreams[place].add(row.counters)
        }
    }
}
