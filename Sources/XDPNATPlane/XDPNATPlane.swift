// SPDX-License-Identifier: Apache-2.0

package import BPFRuntime
internal import CDatapath
package import FanoutCore
package import KernelForwarding
internal import LinuxNet
package import Logging

/// Address translation in the kernel, at the XDP hook of interfaces; bpf/xdp_nat.bpf.c describes a packet's way through
/// the program. This plane fills its maps, and keeps it attached.
///
/// All interfaces share one program and its maps: those of the listeners and, unless they have one arm, those of the
/// servers, where the replies come in. A change of receivers changes the maps of the active program. A change that
/// exceeds them needs another program, which shares the maps of clients and servers with the previous one and replaces
/// it at each hook in one step. A start does the same: it replaces the program of a killed daemon, so clients keep
/// their servers.
///
/// A removed or unhealthy receiver is no server any more, and its clients get another with their next packet. A
/// receiver of weight 0 keeps its clients.
package actor XDPNATPlane: KernelPlane {
    package static let mode = ForwardingMode.xdpNAT

    /// The active program and the content of its maps.
    struct Serving {
        let program: NATProgram
        var layout: NATLayout
        let endpoints: NATProgram.Table
        let hooked: HookTable
    }

    package let state: KernelPlaneState
    let source: ProgramSource
    /// How long removed receivers may still answer.
    let lateReplies: Duration
    var serving: Serving?
    var hooks: PlaneHooks
    var netdev: Netdev?
    /// The counters of removed rows, by listener.
    var past: [String: NATTally] = [:]
    /// The fates of removed listeners' packets.
    var departed = NATTally()
    /// The active warnings.
    var warnings: Set<String> = []
    /// The interfaces that were logged for packets that leave by the stack.
    var leftToStack: Set<String> = []
    var errors: TransmitErrors?
    /// Whether the kernel's refusal of that was logged.
    var countsNoErrors = false

    private let thread = PlaneThread(name: "xdp_nat")

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the actor keeps its thread.
        unsafe thread.asUnownedSerialExecutor()
    }

    /// - Parameters:
    ///   - source: where the kernel program comes from.
    ///   - root: the BPF file system, where the hooks are pinned.
    ///   - memory: the cache of paths that the planes share.
    ///   - lateReplies: how long the replies of removed receivers go to their clients as the service's. Usually as long
    ///     as the kernel waits for a reply over UDP (net/netfilter/nf_conntrack_proto_udp.c).
    package init(
        logger: Logger, source: ProgramSource = .embedded, root: String = PinFolder.usualRoot,
        memory: PathMemory = PathMemory(), lateReplies: Duration = .seconds(30)
    ) {
        self.lateReplies = lateReplies
        state = KernelPlaneState(
            logger: logger, memory: memory, needs: [.allAddresses, .features, .routes])
        self.source = source
        hooks = PlaneHooks(NATProgram.pins, root: root, logger: logger)
    }

    package var attachedHooks: [PinnedHook] { hooks.all }
    package var isServing: Bool { serving != nil }

    package func checkRoom(
        for next: [Listener], on network: NetworkView
    ) throws(PlaneError) {
        if let conflict = ServerConflict.first(among: next) { throw PlaneError(conflict) }
        let capacity = capacity(for: next, on: network).joined(with: serving?.layout.capacity)
        let previous = serving?.layout ?? NATLayout(capacity: capacity)
        guard previous.next(for: next, on: network, capacity) != nil else {
            throw PlaneError(BPFError.tooMany(next))
        }
    }

    package func serve(_ next: [Listener], on network: NetworkView) throws(PlaneError) {
        if let conflict = ServerConflict.first(among: next) { throw PlaneError(conflict) }
        do throws(BPFError) {
            if try !update(to: next, on: network) { try renew(to: next, on: network) }
        } catch {
            logger.debug(
                "the verifier's log", metadata: ["log": "\(error.wholeLog.joined(separator: "\n"))"]
            )
            throw PlaneError(error)
        }
    }

    package func didServe(_ network: NetworkView) {
        warn(of: network)
        logStack(network)
        countErrors()
        keepEvents(but: listeners)
        for listener in listeners {
            past[listener.name]?.receivers.settle(present: listener.downstreams.map(\.endpoint))
        }
    }

    package func obstructions() -> [Obstruction] {
        guard let network else { return [] }
        let obstacles = listeners.flatMap { Obstacle.onTheWay(to: $0, network) }
        return network.idle(listeners) + obstacles.map(\.obstruction)
    }

    package func detach() {
        hooks.removeAll()
        settle()
    }

    /// The program stays at its hooks and continues; its maps stay open here, for the last counters.
    package func release() {
        hooks.release()
        netdev = nil
    }

    package func rejoin() throws(PlaneError) {
        guard let serving else { return }
        do throws(BPFError) {
            // The process that took over for a while has written its receivers to the shared maps.
            self.serving?.layout.follow(try IDAllocator(of: serving.program.memory))
        } catch {
            throw PlaneError(error)
        }
    }

    package func forget() {
        serving = nil
        past = [:]
        departed = NATTally()
        warnings = []
        leftToStack = []
        errors = nil
        netdev = nil
    }

    /// The wait for packets that use removed entries is still to come.
    func logActive() {
        logger.debug("packets use the new tables", metadata: ["mode": "xdp_nat"])
    }

    package func logInitialized() {
        guard let capacity = serving?.layout.capacity else { return }
        logger.info(
            "XDP NAT initialized",
            metadata: [
                "listeners": "\(listeners.count)", "interfaces": "\(hooks.all.count)",
                "way": capacity.isRouted ? "routed" : "one_arm",
                "max_associations": "\(capacity.memory.associations)",
            ])
    }
}

extension XDPNATPlane {
    /// For a listener of both protocols, the receiver of the source's datagrams.
    package func receiver(
        associatedWith source: Endpoint, to destination: Endpoint, of listener: String
    ) -> Endpoint? {
        let name = VIPPort.Name(listener: listener, port: destination.port)
        guard let serving, let vipPort = serving.layout.vipPorts[name],
            let transport = listeners.first(where: { $0.name == listener })?.nat.transport,
            let protocolNumber = transport.numbers.first,
            let word = try? serving.program.memory.association(
                of: source, protocolNumber, vipPort.number)
        else { return nil }
        let (number, generation) = (UInt16(lb_nat_server_of(word)), lb_nat_generation_of(word))
        return vipPort.servers.first {
            $0.value.number == number && $0.value.generation == generation
        }?.key
    }
}

extension PinnedMaps {
    /// The entry of a client's association, whether its server still exists or not; nil when there is none. Reading
    /// does not refresh it: the kernel distinguishes the calls of programs from those of processes.
    fileprivate func association(
        of client: Endpoint, _ protocolNumber: UInt8, _ vipPort: UInt32
    ) throws(BPFError) -> UInt64? {
        let isV6 = client.address.family == .v6
        let key = lb_nat_client_of(
            client.address.datapath, client.port, protocolNumber, UInt8(vipPort), isV6 ? 1 : 0)
        for map in isV6 ? ["associations6", "unanswered6"] : ["associations4", "unanswered4"] {
            let value = try read(map) { map throws(BPFError) in
                isV6 ? try map.value(of: key) : try map.value(of: key.words.0)
            }
            if let value { return value.read(lb_nat_association.self).word }
        }
        return nil
    }
}

// A killed daemon leaves its program and its associations. The next daemon of the interface takes both over; otherwise
// they would stay for ever.

extension XDPNATPlane {
    /// Does nothing without the privilege to read the hooks, or while listeners failed to take back hooks from another
    /// process, since those programs serve them.
    package func removeLeftovers() {
        guard listeners.isEmpty || !hooks.all.isEmpty else { return }
        hooks.removeLeftovers(
            "removed the program and the associations that an old daemon had left")
    }
}
