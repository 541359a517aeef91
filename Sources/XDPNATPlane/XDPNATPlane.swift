// SPDX-License-Identifier: Apache-2.0

package import BPFRuntime
internal import CDatapath
package import FanoutCore
package import KernelForwarding
internal import LinuxNet
package import Logging

/// Address translation in the kernel, at the XDP hook of interfaces: bpf/xdp_nat.bpf.c tells of a packet's
/// way through it. This side says who is who in its maps, and keeps it attached.
///
/// All interfaces share one program and its maps: those of the listeners and, unless they have one arm,
/// those by which servers are reached, where the answers come in. A change of receivers alters the maps of
/// the active program. What does not fit needs another program, which shares the maps of clients and
/// servers with the previous one and replaces it at each hook in one step. A start does the same: it
/// replaces what a killed daemon left, so clients stay with their servers.
///
/// A receiver that leaves, or that health checks keep out, is no server any more, and its clients are given
/// to others with their next packet. One of weight 0 keeps the clients that it has.
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
    /// For how long receivers that have left still answer.
    let lateReplies: Duration
    var serving: Serving?
    var hooks: PlaneHooks
    var netdev: Netdev?
    /// What was counted in rows that are no more, by listener.
    var past: [String: NATTally] = [:]
    /// What became of packets of listeners that are no more.
    var departed = NATTally()
    /// What was warned of and still is so.
    var warnings: Set<String> = []
    /// The interfaces of which was said that packets leave by the stack there.
    var leftToStack: Set<String> = []
    var errors: TransmitErrors?
    /// The kernel refused that, and it was said.
    var countsNoErrors = false

    private let thread = PlaneThread(name: "xdp_nat")

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        // SAFETY: the actor keeps its thread.
        unsafe thread.asUnownedSerialExecutor()
    }

    /// - Parameters:
    ///   - source: where the kernel program comes from.
    ///   - root: the BPF file system, where the hooks are pinned.
    ///   - memory: what the planes know which follow the same changes.
    ///   - lateReplies: for how long the answers of receivers that have left go to their clients as the
    ///     service's. Usually as long as the kernel waits for an answer over UDP
    ///     (net/netfilter/nf_conntrack_proto_udp.c).
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
                "the kernel's words", metadata: ["log": "\(error.wholeLog.joined(separator: "\n"))"]
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

    /// The program stays at its hooks and goes on; its maps stay open here, for the last counts.
    package func release() {
        hooks.release()
        netdev = nil
    }

    package func rejoin() throws(PlaneError) {
        guard let serving else { return }
        do throws(BPFError) {
            // The process that took over for a while has written its receivers into the maps that both have.
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

    /// The wait for packets that are on their way by what has gone is still to come.
    func logActive() {
        logger.debug("packets meet the new tables", metadata: ["mode": "xdp_nat"])
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
    /// Of a listener of both protocols, the receiver of the source's datagrams.
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
    /// The word of a client's association, whether its server is still there or not; nil when it has none.
    /// Looking makes it no younger: the kernel tells the calls of programs from those of processes.
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

// A daemon that is killed leaves its program and what that remembers. The next one that names the interface
// takes both over; without one they would stay for ever.

extension XDPNATPlane {
    /// Without the privilege to see what is there nothing happens; nor where listeners could not have back what
    /// was left to another process, since what is there serves them.
    package func removeLeftovers() {
        guard listeners.isEmpty || !hooks.all.isEmpty else { return }
        hooks.removeLeftovers(
            "removed the program and the associations that an old daemon had left")
    }
}
