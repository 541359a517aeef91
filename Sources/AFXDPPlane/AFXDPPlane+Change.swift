// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import FanoutCore
internal import KernelForwarding
internal import LinuxNet
internal import Logging
internal import XDPSockets

extension AFXDPPlane {
    /// Applies these listeners on this network to programs, sockets and tables.
    func open(_ next: [Listener], on network: NetworkView) throws(PlaneError) {
        let links = network.links
        let plans = InterfacePlan.all(of: next, on: network, links)
        claimed = Set(served.values.flatMap(\.workers).flatMap(\.egresses.keys))
        isShort = false
        let opened = try open(plans)
        var tables: [(worker: QueueWorker, table: PreparedTable)] = []
        for plan in plans {
            guard let interface = opened[plan.interface.index] else { continue }
            for worker in interface.workers {
                tables.append((worker, try table(for: worker, plan, network, links, opened)))
            }
        }
        let leaving = served.filter { opened[$0.key] == nil }.values
        do throws(BPFError) {
            try leave(plans, leaving)
            // A new destination is steered when every worker knows it. The maps have room for it.
            for (worker, table) in tables {
                let previous = worker.prepared.rows
                worker.adopt(table)
                keepDeparted(from: previous, to: table.rows)
            }
            for plan in plans { try opened[plan.interface.index]?.steer(plan) }
            logger.debug("packets use the new tables", metadata: ["mode": "af_xdp"])
        } catch {
            throw PlaneError(error)
        }
        for worker in tables.map(\.worker) { worker.settle() }
        retire(leaving.flatMap(\.workers))
        for plan in plans { retire(opened[plan.interface.index]?.takeIdleWorkers(plan) ?? []) }
        served = opened
        let kept = Set(served.values.flatMap(\.workers).flatMap(\.egresses.keys))
        isShort = isShort && !claimed.subtracting(kept).isEmpty
    }

    /// Removes destinations from the programs that are no longer served, and waits until no packet of theirs is left.
    private func leave(
        _ plans: [InterfacePlan], _ leaving: some Collection<ServedInterface>
    ) throws(BPFError) {
        var isLeaving = !leaving.isEmpty
        for interface in leaving { interface.detach() }
        for plan in plans where try served[plan.interface.index]?.leave(plan) == true {
            isLeaving = true
        }
        guard isLeaving else { return }
        Socket.settleTurnedAway()
        for interface in served.values { interface.workers.forEach { $0.settle() } }
    }

    /// The interfaces of the plans, with a worker for each queue; new ones steer nothing yet.
    private func open(
        _ plans: [InterfacePlan]
    ) throws(PlaneError) -> [UInt32: ServedInterface] {
        var opened: [UInt32: ServedInterface] = [:]
        for plan in plans {
            let index = plan.interface.index
            // Only workers of this process can be using its queues to send.
            if served[index] == nil { giveUp(queuesOf: index) }
            if let known = served[index], !known.fits(plan) {
                known.detach()
                Socket.settleTurnedAway()
                retire(known.workers)
                served[index] = nil
            }
            let interface =
                if let known = served[index] { known } else {
                    try ServedInterface(
                        plan, source, cpus: CPUAffinity.allowed, logger: logger)
                }
            try interface.openWorkers(plan)
            opened[index] = interface
        }
        return opened
    }

    /// Makes workers of other interfaces send packets for this one through the kernel, since its own workers need its
    /// queues.
    private func giveUp(queuesOf index: UInt32) {
        guard let network else { return }
        for plan in InterfacePlan.all(of: listeners, on: network, network.links) {
            for worker in served[plan.interface.index]?.workers ?? []
            where worker.egresses.keys.contains(where: { $0.interface == index }) {
                let known = Dictionary(
                    uniqueKeysWithValues: worker.egresses.filter { $0.key.interface != index }
                        .map { ($0.key.interface, $0.value) })
                if let table = try? prepare(worker, plan, network, network.links, { known[$0] }) {
                    worker.adopt(table)
                }
            }
        }
    }

    /// A worker's table for a plan, with sockets for every output interface.
    private func table(
        for worker: QueueWorker, _ plan: InterfacePlan, _ network: NetworkView,
        _ links: LinkLayer, _ opened: [UInt32: ServedInterface]
    ) throws(PlaneError) -> PreparedTable {
        var sockets: [UInt32: SharedSocket?] = [plan.interface.index: worker.ingress]
        return try prepare(worker, plan, network, links) { interface in
            if let known = sockets[interface] { return known }
            let socket = self.egress(of: worker, by: interface, links, opened)
            sockets[interface] = socket
            return socket
        }
    }

    private func prepare(
        _ worker: QueueWorker, _ plan: InterfacePlan, _ network: NetworkView, _ links: LinkLayer,
        _ egress: (UInt32) -> SharedSocket?
    ) throws(PlaneError) -> PreparedTable {
        // Workers start at different slots, so that they do not all start with the same receiver.
        let nextSlot = worker.queue.queue &* 0x9e37_79b1
        return try PreparedTable(
            plan.listeners, at: plan.destinations, keeping: worker.prepared.rows,
            firstTurn: nextSlot
        ) { receiver in
            let path = network.paths[receiver]
            if network.unplugged.contains(receiver) { return .unplugged }
            guard let way = LinkWay(path, links), let socket = egress(way.interface) else {
                return Way(isLocal: network.isLocal(receiver))
            }
            return Way(by: socket, from: way.source, to: way.destination, mtu: way.mtu)
        }
    }

    /// A socket by which the worker sends out of an interface; nil when there is no queue for it, and the kernel must
    /// send.
    private func egress(
        of worker: QueueWorker, by interface: UInt32, _ links: LinkLayer,
        _ opened: [UInt32: ServedInterface]
    ) -> SharedSocket? {
        if let known = worker.egresses.first(where: { $0.key.interface == interface }) {
            return known.value
        }
        // A queue belongs to one memory: those of a served interface to its own workers.
        guard opened[interface] == nil, let device = links.devices[interface] else { return nil }
        let isZeroCopy = worker.ingress.isZeroCopy
        if let objection = QueueWorker.objectionToEgress(isZeroCopy: isZeroCopy) {
            warnKernelSends(by: interface, device.name, objection)
            return nil
        }
        let count = device.transmitQueues
        for offset in 0..<count {
            let number = (worker.queue.queue + offset) % count
            let queue = InterfaceQueue(interface: interface, queue: number)
            guard !claimed.contains(queue) else { continue }
            do throws(XDPSocketError) {
                let socket = try worker.openEgress(queue)
                claimed.insert(queue)
                closed[interface] = nil
                return socket
            } catch {
                warnKernelSends(by: interface, device.name, error.reason, "\(error)")
                return nil
            }
        }
        isShort = true
        return nil
    }

    /// Once for each reason.
    private func warnKernelSends(
        by interface: UInt32, _ name: String, _ reason: String, _ error: String? = nil
    ) {
        guard closed[interface] != reason else { return }
        closed[interface] = reason
        logger.warning(
            "the kernel sends instead of a transmit ring",
            metadata: ["interface": "\(name)", "error": "\(error ?? reason)"])
    }
}
