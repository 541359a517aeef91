// SPDX-License-Identifier: Apache-2.0

package import BPFRuntime
internal import CDatapath
package import FanoutCore
internal import Glibc
package import KernelForwarding
internal import LinuxNet
package import Logging

/// Forwarding in the kernel, at the TC ingress hook of interfaces: bpf/tc_fanout.bpf.c tells of a
/// datagram's way through it. This side fills its maps and keeps it attached.
///
/// All interfaces share one program and its maps. A change of receivers builds the listener's table
/// beside the active one and flips it. What does not fit into the maps, and every new interface,
/// takes a new program with maps of its own, which is filled first and then takes the place of the one
/// before at each hook in one step. A start is the same: it replaces what a killed daemon left.
package actor TCPlane: KernelPlane {
    package static let mode = ForwardingMode.tcEBPF

    /// The active program and the content of its maps.
    struct Serving {
        let program: TCProgram
        var layout: Layout
    }

    package let state: KernelPlaneState
    let source: ProgramSource
    var serving: Serving?
    var hooks: PlaneHooks
    /// What was counted in rows that are no more, by listener.
    var past: [String: Tally] = [:]

    private let thread = PlaneThread(name: "tc_ebpf")

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the actor keeps its thread.
        unsafe thread.asUnownedSerialExecutor()
    }

    /// - Parameters:
    ///   - source: where the kernel program comes from.
    ///   - root: the BPF file system, where the hooks are pinned.
    ///   - memory: what the planes know which follow the same changes.
    package init(
        logger: Logger, source: ProgramSource = .embedded, root: String = PinFolder.usualRoot,
        memory: PathMemory = PathMemory()
    ) {
        state = KernelPlaneState(
            logger: logger, memory: memory, needs: .rules,
            reach: ReachLog(logger: logger, needsForwarding: true))
        self.source = source
        hooks = PlaneHooks(TCProgram.pins, root: root, logger: logger)
    }

    package var attachedHooks: [PinnedHook] { hooks.all }
    package var isServing: Bool { serving != nil }

    package func checkRoom(
        for next: [Listener], on network: NetworkView
    ) throws(PlaneError) {
        _ = try WantedHook.all(of: next, on: network)
        let capacity = TableCapacity(for: next, entries: ServedDestination.count(next, network))
        guard Layout(capacity: capacity).next(for: next, on: network) != nil else {
            throw PlaneError(BPFError.tooMany(next.count))
        }
    }

    package func serve(_ next: [Listener], on network: NetworkView) throws(PlaneError) {
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
    }

    package func didServe(_ network: NetworkView) {
        let names = Set(listeners.map(\.name))
        past = past.filter { names.contains($0.key) }
        for listener in listeners {
            past[listener.name]?.receivers.settle(present: listener.downstreams.map(\.endpoint))
        }
    }

    package func tick() {
        hooks.restoreDetached()
        // The kernel sees none of the frames that go straight to the other end of a veth, so it has to confirm that the
        // hosts there still have their addresses. Others it resolves for each packet.
        let peers = network?.paths.values.filter { if case .peer = $0 { true } else { false } }
        state.use(Set(peers?.compactMap(\.hop) ?? []))
    }

    package func detach() {
        hooks.removeAll()
        settle()
    }

    /// The program stays at its hooks and goes on; its maps stay open here, for the last counts.
    package func release() { hooks.release() }

    package func forget() {
        serving = nil
        past = [:]
    }

    package func logInitialized() {
        guard let capacity = serving?.layout.capacity else { return }
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
    package func removeLeftovers() {
        guard listeners.isEmpty || !hooks.all.isEmpty else { return }
        hooks.removeLeftovers("removed the program that an old daemon had left")
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
