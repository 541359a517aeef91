// SPDX-License-Identifier: Apache-2.0

package import BPFRuntime
internal import CDatapath
package import FanoutCore
internal import Glibc
package import KernelForwarding
internal import LinuxNet
package import Logging

/// Forwarding in the kernel, at the TC ingress hook of interfaces; bpf/tc_fanout.bpf.c describes a datagram's way
/// through the program. This plane fills its maps and keeps it attached.
///
/// All interfaces share one program and its maps. A change of receivers builds the listener's table beside the active
/// one and switches to it. A change that exceeds the maps, and every new interface, needs a new program with its own
/// maps. The plane fills these first; then the new program replaces the previous one at each hook in one step. A start
/// does the same: it replaces the program of a killed daemon.
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
    /// The counters of removed rows, by listener.
    var past: [String: Tally] = [:]

    private let thread = PlaneThread(name: "tc_ebpf")

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the actor keeps its thread.
        unsafe thread.asUnownedSerialExecutor()
    }

    /// - Parameters:
    ///   - source: where the kernel program comes from.
    ///   - root: the BPF file system, where the hooks are pinned.
    ///   - memory: the cache of paths that the planes share.
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
                "the verifier's log", metadata: ["log": "\(error.wholeLog.joined(separator: "\n"))"]
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
        // The kernel does not see frames that go straight to a veth's peer, so the plane makes it probe the hosts
        // there. For other frames the kernel resolves the host with each packet.
        let peers = network?.paths.values.filter { if case .peer = $0 { true } else { false } }
        state.use(Set(peers?.compactMap(\.hop) ?? []))
    }

    package func detach() {
        hooks.removeAll()
        settle()
    }

    /// The program stays at its hooks and continues; its maps stay open here, for the last counters.
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

// A killed daemon leaves its program at the hooks, where it continues to forward. The next daemon takes over those of
// its own interfaces; at others the program would stay for ever, with outdated receivers.

extension TCPlane {
    /// Does nothing without the privilege to read the hooks, or while listeners failed to take back hooks from another
    /// process, since those programs serve them.
    package func removeLeftovers() {
        guard listeners.isEmpty || !hooks.all.isEmpty else { return }
        hooks.removeLeftovers("removed the program that an old daemon had left")
    }
}

extension PlaneError {
    /// The oldest kernel that can verify the program, one of whose global functions has a pointer to memory as
    /// argument. Its helpers are older: `bpf_redirect_peer`, and next hops for `bpf_redirect_neigh` (Linux 5.10).
    private static let oldestKernel = "5.12"

    /// An error of libbpf or the kernel.
    init(_ error: BPFError) {
        self.init(
            error, mode: .tcEBPF, oldestKernel: Self.oldestKernel,
            lacking: Capabilities.kernelPrograms.subtracting(.permitted).names)
    }

    /// Two listeners of one interface want different hooks.
    init(_ listener: Listener, disagreesOver interface: String) {
        self.init(
            operation: "attach", subject: "listener \(listener.name) to interface \(interface)",
            reason: "another listener of the interface has another tc_attach",
            remedy: "set one tc_attach for both, best under settings at the top")
    }
}

extension BPFError {
    /// More listeners than the kernel program has room for.
    static func tooMany(_ listeners: Int) -> BPFError {
        BPFError(
            operation: "lay out", subject: "\(listeners) listeners of mode tc_ebpf", errno: E2BIG,
            reason: "a program carries \(LB_LISTENERS_MAX) of them",
            remedy: "use mode: userspace for some")
    }
}

extension WantedHook {
    /// The plans of all existing interfaces of listeners, by index.
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
