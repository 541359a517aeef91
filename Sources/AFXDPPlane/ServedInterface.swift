// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CNet
internal import FanoutCore
internal import Glibc
internal import KernelForwarding
internal import LinuxNet
internal import Logging
internal import XDPSockets

/// Our program on one interface, and the workers behind its queues.
///
/// The link is not pinned: the sockets and the packets in them end with the process, so a program that stayed would
/// steer nothing. Packets pass to the network stack until the next process runs.
final class ServedInterface {
    let hook: PinnedHook
    /// The hook of the program.
    let mode: HookMode
    private(set) var workers: [QueueWorker] = []
    private var device: LinkLayer.Device
    private var program: SteerProgram
    private var destinations: Set<ServedDestination> = []
    private let source: ProgramSource
    private let cpus: [Int]
    private let isPolling: Bool
    private let logger: Logger

    /// How long the program of a process that has ended may remain.
    private static let patience = Duration.seconds(1)

    /// Attaches the program, which steers nothing yet.
    init(
        _ plan: InterfacePlan, _ source: ProgramSource, cpus: [Int], logger: Logger
    ) throws(PlaneError) {
        hook = PinnedHook(plan.interface)
        device = plan.device
        self.source = source
        self.cpus = plan.pinsCPUs ? cpus : []
        isPolling = plan.polls
        self.logger = logger
        do throws(BPFError) {
            let capacity = SteerProgram.Capacity(
                destinations: Set(plan.destinations.keys), queues: plan.queues.count)
            program = try SteerProgram(source, capacity: capacity)
            mode = try Self.attach(program, to: hook, plan.mode)
        } catch {
            let occupant = (try? XDPOccupant.of(interface: plan.interface.index)) ?? nil
            if error.errno == EBUSY, let occupant, SteerProgram.isOurs(occupant) {
                throw PlaneError(serving: plan.interface.name, occupant)
            }
            throw PlaneError(error)
        }
        hook.logAttached(logger)
    }

    private static func attach(
        _ program: SteerProgram, to hook: PinnedHook, _ wanted: XDPAttach
    ) throws(BPFError) -> HookMode {
        let end = ContinuousClock.now + patience
        while true {
            do throws(BPFError) {
                return try hook.replace(with: program.program, trying: wanted.modes)
            } catch {
                let occupant = (try? XDPOccupant.of(interface: hook.interface.index)) ?? nil
                let isOurs = occupant.map(SteerProgram.isOurs) ?? true
                guard error.errno == EBUSY, isOurs, ContinuousClock.now < end else { throw error }
                cnet_pause(5000)
            }
        }
    }

    /// Opens workers for the queues that have none. The new ones serve no listener yet.
    func openWorkers(_ plan: InterfacePlan) throws(PlaneError) {
        let missing = plan.queues.filter { queue in
            !workers.contains { $0.queue.queue == queue }
        }
        if !missing.isEmpty {
            logger.info(
                "detected available RX queues on interface",
                metadata: ["interface": "\(hook.interface.name)", "queues": "\(plan.queues.count)"])
        }
        for queue in missing {
            let own = QueueWorker.Plan(
                shape: shape(plan.device, isFirst: queue == 0), isCopying: mode == .skb,
                isPolling: isPolling,
                cpu: cpus.isEmpty ? nil : cpus[Int(queue) % cpus.count])
            workers.append(
                try QueueWorker(
                    on: InterfaceQueue(interface: hook.interface.index, queue: queue), own,
                    logger: logger))
        }
        workers.sort { $0.queue.queue < $1.queue.queue }
    }

    /// Queues that no longer exist: no packets come by them.
    func takeIdleWorkers(_ plan: InterfacePlan) -> [QueueWorker] {
        let idle = workers.filter { !plan.queues.contains($0.queue.queue) }
        workers.removeAll { !plan.queues.contains($0.queue.queue) }
        return idle
    }

    /// Frames of half a page unless the interface has longer packets; 16 MiB in both cases.
    private func shape(_ device: LinkLayer.Device, isFirst: Bool) -> Umem.Shape {
        let usual = Umem.Shape()
        guard usual.objection(to: Int(device.mtu), of: device.name) != nil else { return usual }
        let large = Umem.Shape(frameBytes: 4096, frames: 4096, fillEntries: 2048)
        if isFirst, let objection = large.objection(to: Int(device.mtu), of: device.name) {
            logger.warning("\(objection)", metadata: ["interface": "\(device.name)"])
        }
        return large
    }

    /// Makes the kernel steer the destinations of the plan, which every worker knows now.
    func steer(_ plan: InterfacePlan) throws(BPFError) {
        let wanted = Set(plan.destinations.keys)
        let needed = SteerProgram.Capacity(destinations: wanted, queues: plan.queues.count)
        let isNew = !program.capacity.covers(needed)
        let next = isNew ? try SteerProgram(source, capacity: needed) : program
        let served = isNew ? [] : destinations
        for worker in workers { try next.steer(queue: worker.queue.queue, to: worker.ingress) }
        for destination in wanted.subtracting(served) { try next.serve(destination) }
        let longest = workers.map(\.shape.longestPacket).min() ?? 0
        // Last: until then a new program steers nothing.
        try next.know(mac: plan.device.mac ?? [0, 0, 0, 0, 0, 0], longest: longest)
        if isNew { try hook.replace(with: next.program, trying: [mode]) }
        program = next
        destinations = wanted
        device = plan.device
    }

    /// Removes the destinations that the plan does not have. Some of their packets may not be processed yet.
    ///
    /// - Returns: whether any was removed.
    func leave(_ plan: InterfacePlan) throws(BPFError) -> Bool {
        let leaving = destinations.subtracting(plan.destinations.keys)
        for destination in leaving { try program.leave(destination) }
        destinations.subtract(leaving)
        return !leaving.isEmpty
    }

    /// Whether its settings are those that the listeners of a plan need.
    func fits(_ plan: InterfacePlan) -> Bool {
        plan.mode.modes.contains(mode) && plan.polls == isPolling
    }

    /// Attaches the program again in the same mode, for which the sockets of the workers were opened.
    func restoreIfDetached() { hook.restoreIfDetached(trying: [mode], logger) }

    /// Detaches the program; packets pass to the network stack from then on.
    func detach() { hook.remove() }
}

/// The destinations and queues of an interface.
struct InterfacePlan: Sendable {
    let interface: HostInterface
    let device: LinkLayer.Device
    /// By name.
    var listeners: [Listener] = []
    /// The owners of the destinations, as an index into `listeners`. A destination of several listeners is the first's.
    var destinations: [ServedDestination: Int] = [:]

    /// The plans of all existing interfaces of listeners, by index.
    static func all(
        of listeners: [Listener], on network: NetworkView, _ links: LinkLayer
    ) -> [InterfacePlan] {
        var plans: [UInt32: InterfacePlan] = [:]
        for listener in listeners {
            guard let interface = network.interface(named: listener.interface),
                let device = links.devices[interface.index]
            else { continue }
            var plan =
                plans[interface.index] ?? InterfacePlan(interface: interface, device: device)
            let place = plan.listeners.count
            plan.listeners.append(listener)
            for destination in ServedDestination.all(of: listener, on: interface)
            // Destinations without a port are for fragments, which the network stack gets.
            where destination.port != 0 && plan.destinations[destination] == nil {
                plan.destinations[destination] = place
            }
            plans[interface.index] = plan
        }
        return plans.values.sorted { $0.interface.index < $1.interface.index }
    }

    /// Every queue that packets come in by.
    var queues: Range<UInt32> { 0..<device.receiveQueues }

    /// The setting of one listener applies to all: the check of a configuration makes them agree.
    var mode: XDPAttach { listeners.map(\.settings.xdpMode).first { $0 != .auto } ?? .auto }

    var polls: Bool { listeners.contains { $0.settings.busyPoll } }

    var pinsCPUs: Bool { listeners.contains { $0.settings.pinCPUs } }
}
