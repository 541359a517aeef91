// SPDX-License-Identifier: Apache-2.0

public import BPFRuntime
internal import CDatapath
public import FanoutCore
internal import Glibc
public import KernelForwarding
internal import LinuxNet
public import Logging

/// Forwarding in the kernel, at the TC ingress hook of interfaces: bpf/tc_fanout.bpf.c tells of a
/// datagram's way through it. This side fills its maps and keeps it attached.
///
/// All interfaces share one program and its maps. A change of receivers builds the listener's table
/// beside the one in force and flips it. What does not fit into the maps, and every new interface,
/// takes a new program with maps of its own, which is filled first and then takes the place of the one
/// before at each hook in one step. A start is the same: it replaces what a killed daemon left.
public actor TCPlane: DataPlane {
    public static let mode = ForwardingMode.tcEBPF

    /// The program in force and what stands in its maps.
    struct Serving {
        let program: TCProgram
        var layout: Layout
    }

    let logger: Logger
    let source: ProgramSource
    var listeners: [Listener] = []
    var serving: Serving?
    var hooks: PlaneHooks
    /// What the tables in force were made for.
    var network: NetworkView?
    var reach: ReachLog
    var netlink: Netlink?
    /// The ways to receivers, which the planes of a daemon share.
    let memory: PathMemory
    var anticipated: Anticipated<NetworkView>?
    var watch: NetworkWatch?
    var clock: Task<Void, Never>?
    /// What was counted in rows that are no more, by listener.
    var past: [String: Tally] = [:]

    private let thread = PlaneThread(name: "tc_ebpf")

    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the actor keeps its thread.
        unsafe thread.asUnownedSerialExecutor()
    }

    /// - Parameters:
    ///   - source: where the kernel program comes from.
    ///   - root: the BPF file system, where the hooks are pinned.
    ///   - memory: what the planes know which follow the same changes.
    public init(
        logger: Logger, source: ProgramSource = .embedded, root: String = PinFolder.usualRoot,
        memory: PathMemory = PathMemory()
    ) {
        self.logger = logger
        self.memory = memory
        self.source = source
        hooks = PlaneHooks(TCProgram.pins, root: root, logger: logger)
        reach = ReachLog(logger: logger, needsForwarding: true)
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
        let network = try look(for: next, since: .now)
        try network.checkInterfaces(of: change)
        _ = try WantedHook.all(of: next, on: network)
        let capacity = TableCapacity(for: next, entries: ServedDestination.count(next, network))
        guard Layout(capacity: capacity).next(for: next, on: network) != nil else {
            throw PlaneError(BPFError.tooMany(next.count))
        }
    }

    public func apply(_ change: Change) throws(PlaneError) {
        try follow()
        let next = change.applied(to: listeners)
        let network = try anticipated(for: next)
        try network.checkInterfaces(of: change)
        let isFirst = serving == nil
        try bring(to: next, on: network)
        log(change, isFirst: isFirst)
    }

    /// Leads program, maps and hooks to these listeners on this network.
    func bring(to next: [Listener], on network: NetworkView) throws(PlaneError) {
        guard !next.isEmpty else {
            end()
            return
        }
        let wanted = try WantedHook.all(of: next, on: network)
        let needed = TableCapacity(for: next, entries: ServedDestination.count(next, network))
        do throws(BPFError) {
            if let serving, hooks.satisfy(wanted), serving.layout.capacity.covers(needed),
                let layout = serving.layout.next(for: next, on: network)
            {
                try update(serving, to: layout)
                hooks.leave(allBut: wanted)
            } else {
                let capacity = needed.joined(with: serving?.layout.capacity)
                guard let layout = Layout(capacity: capacity).next(for: next, on: network) else {
                    throw BPFError.tooMany(next.count)
                }
                try renew(to: layout, at: wanted)
            }
        } catch {
            logger.debug(
                "the kernel's words", metadata: ["log": "\(error.wholeLog.joined(separator: "\n"))"]
            )
            throw PlaneError(error)
        }
        listeners = next
        self.network = network
        watch?.looked(at: network)
        reach.tell(of: next, on: network)
        let names = Set(next.map(\.name))
        past = past.filter { names.contains($0.key) }
        for listener in next {
            past[listener.name]?.receivers.settle(present: listener.downstreams.map(\.endpoint))
        }
    }

    public func attachments() -> [Attachment] {
        hooks.all.map { $0.attachment(Self.mode) }.sorted { $0.interface < $1.interface }
    }

    public func obstructions() -> [Obstruction] { reach.obstructions(of: listeners, on: network) }

    public func stop() -> [ListenerCounters] {
        unfollow()
        hooks.removeAll()
        settle()
        let last = counters()
        end()
        return last
    }

    /// The program stays at its hooks and goes on; its maps stay open here, for the last counts.
    public func relinquish() {
        unfollow()
        hooks.release()
    }

    public func reclaim() throws(PlaneError) {
        guard !listeners.isEmpty else { return }
        try follow()
        try bring(to: listeners, on: look(for: listeners, since: .now))
    }

    /// Ends what is left of the program, the hooks first.
    private func end() {
        hooks.removeAll()
        serving = nil
        network = nil
        listeners = []
        past = [:]
        reach.forget()
    }

    private func log(_ change: Change, isFirst: Bool) {
        for listener in change.added + change.replaced.map(\.to) {
            logger.info(
                "registered listener in eBPF map",
                metadata: [
                    "listener": "\(listener.name)", "bind": "\(listener.bind)",
                    "interface": "\(listener.interface ?? "")",
                    "balance": "\(listener.balance.rawValue)",
                    "downstreams": "\(listener.downstreams.count)",
                ])
        }
        for pair in change.retargeted {
            logger.info(
                "updated tc_ebpf downstream set",
                metadata: [
                    "listener": "\(pair.to.name)", "downstreams": "\(pair.to.downstreams.count)",
                ])
        }
        guard isFirst, let serving else { return }
        let capacity = serving.layout.capacity
        logger.info(
            "eBPF fast path initialized",
            metadata: [
                "listeners": "\(listeners.count)", "interfaces": "\(hooks.all.count)",
                "receivers_max": "\(capacity.receivers)", "slots_max": "\(capacity.slots)",
            ])
    }
}

// A daemon that is killed leaves its program at the hooks, where it goes on forwarding. A next one that names
// the same interfaces takes it over; at others it would stay for ever, with receivers of old.

extension TCPlane {
    /// Without the privilege to see what is there nothing happens; nor where listeners could not have back what
    /// was left to another process, since what is there serves them.
    public func removeLeftovers() {
        guard listeners.isEmpty || !hooks.all.isEmpty else { return }
        for interface in hooks.removeLeftovers() {
            logger.info(
                "removed the program that a former daemon had left",
                metadata: ["interface": "\(interface.name)", "ifindex": "\(interface.index)"])
        }
    }
}

extension PlaneError {
    /// The oldest kernel that can verify the program, one of whose global functions takes a pointer to
    /// memory. What it calls is older: `bpf_redirect_peer`, and next hops for `bpf_redirect_neigh`
    /// (Linux 5.10).
    private static let oldestKernel = "5.12"

    /// What libbpf or the kernel refused.
    init(_ error: BPFError) {
        self.init(
            error, mode: .tcEBPF, oldestKernel: Self.oldestKernel,
            lacking: Capabilities.kernelPrograms.subtracting(.permitted).names)
    }

    /// Two listeners of one interface want it hooked in different ways.
    init(_ listener: Listener, disagreesOver interface: String) {
        self.init(
            operation: "attach", subject: "listener \(listener.name) to interface \(interface)",
            reason: "another listener of the interface has another tc_attach",
            remedy: "write one tc_attach for both, best under settings at the top")
    }
}

extension BPFError {
    /// More than the kernel program has room for.
    static func tooMany(_ listeners: Int) -> BPFError {
        BPFError(
            operation: "lay out", subject: "\(listeners) listeners of mode tc_ebpf", errno: E2BIG,
            reason: "a program carries \(LB_LISTENERS_MAX) of them",
            remedy: "use mode: userspace for some")
    }
}

extension WantedHook {
    /// One for each interface that listeners name and that is there, by number.
    ///
    /// - Throws: `PlaneError` when two listeners of an interface want it attached in different ways.
    static func all(
        of listeners: [Listener], on network: NetworkView
    ) throws(PlaneError) -> [WantedHook] {
        var wanted: [UInt32: (interface: HostInterface, attach: TCAttach)] = [:]
        for listener in listeners {
            guard let interface = network.interface(named: listener.interface) else { continue }
            let attach = listener.settings.tcAttach
            let known = wanted[interface.index]?.attach ?? .auto
            guard attach == .auto || known == .auto || attach == known else {
                throw PlaneError(listener, disagreesOver: interface.name)
            }
            wanted[interface.index] = (interface, attach == .auto ? known : attach)
        }
        return wanted.values.sorted { $0.interface.index < $1.interface.index }
            .map { WantedHook($0.interface, $0.attach.modes) }
    }
}
