// SPDX-License-Identifier: Apache-2.0

internal import BPFRuntime
internal import CDatapath
internal import FanoutCore
internal import Glibc
internal import KernelForwarding

/// Our program at the XDP hook of one interface.
///
/// The link is pinned, so it outlives this process, and with it the program: a daemon that was killed goes on
/// translating. What the program remembers is pinned beside the link, so the next one finds clients and servers
/// as they were. A lock on the folder of the pins says that one is alive.
final class NATHook {
    let interface: HostInterface
    /// Where the program is; nil until one is there.
    var mode: XDPMode? { link?.mode }
    /// What the program remembers that a former process left here; nil when there is none, or it is of
    /// another version.
    private(set) var left: NATMemory?
    /// Why it is not native, though that was tried.
    private(set) var nativeRefusal: BPFError?
    private let folder: PinFolder
    /// Where the interface is; a thread of another namespace would ask about another interface of that number.
    private let namespace = NetworkNamespace.current
    private var link: XDPLink?
    /// The maps that are pinned, as the memory of a program identifies them; empty when they may be those of
    /// several programs.
    private var pinned: [String: UInt32] = [:]

    private static let pin = "xdp_link"
    private static let prefix = "nat-"
    /// The pins are there, all of one program. Maps of another version mean something else.
    private static let mark = "abi-\(BPFRuntimeInfo.abiVersion)"

    /// By number, since an interface may change its name; and by namespace, since several may see one
    /// BPF file system.
    static func folderName(_ interface: UInt32) -> String {
        "\(prefix)\(interface)-net-\(NetworkNamespace.current)"
    }

    /// Takes the lock, and looks for what a former process left. Alters nothing at the hook.
    init(_ interface: HostInterface, root: String) throws(BPFError) {
        folder = try PinFolder(root: root, name: Self.folderName(interface.index))
        self.interface = interface
        let path = folder.path(of: Self.pin)
        if let found = try XDPLink.pinned(at: path), found.interface == interface.index {
            left = folder.hasMark(Self.mark) ? NATMemory(pinnedIn: folder.path) : nil
            pinned = left?.identity ?? [:]
            link = consume found
        }
    }

    /// Whether the link that was made is still at the interface, or that cannot be told: `bpftool link detach` leaves
    /// it without one.
    var isAttached: Bool {
        NetworkNamespace.current != namespace || link?.interface == interface.index
    }

    /// Attaches `program` where something has detached it; never in the place of another.
    func attachAgain(_ program: NATProgram, by wanted: XDPAttach) throws(BPFError) {
        detach()
        try put(program, by: wanted)
    }

    /// Whether the program is at the hook in a way that satisfies `wanted`.
    func satisfies(_ wanted: XDPAttach) -> Bool {
        switch (wanted, mode) {
        case (_, nil), (.native, .skb), (.skb, .native): false
        case (.auto, _), (.native, .native), (.skb, .skb): true
        }
    }

    /// Has packets meet `program` from now on, in place of the one before.
    ///
    /// - Returns: whether there was none of ours before.
    @discardableResult
    func put(_ program: NATProgram, by wanted: XDPAttach) throws(BPFError) -> Bool {
        let isRemembered = pinned == program.memory.identity
        // Killed between the link and the pins, the next process must not take one's for the other's.
        if !isRemembered { forget() }
        let isNew = !satisfies(wanted)
        if isNew {
            // The kernel has no way from the driver to the stack but without a program in between.
            detach()
            let made = try attach(program, by: wanted)
            try made.pin(at: folder.path(of: Self.pin))
            nativeRefusal = made.nativeRefusal
            link = consume made
        } else {
            try link?.replace(with: program.program)
        }
        if !isRemembered { try remember(program.memory) }
        left = nil
        return isNew
    }

    private func remember(_ memory: NATMemory) throws(BPFError) {
        try memory.pin(in: folder)
        folder.setMark(Self.mark, true)
        pinned = memory.identity
    }

    private func forget() {
        folder.setMark(Self.mark, false)
        pinned = [:]
    }

    private func attach(
        _ program: NATProgram, by wanted: XDPAttach
    ) throws(BPFError) -> XDPLink {
        switch wanted {
        case .native: return try XDPLink(attaching: program.program, to: interface.index, .native)
        case .skb: return try XDPLink(attaching: program.program, to: interface.index, .skb)
        case .auto where interface.kind == "veth":
            return try XDPLink(attaching: program.program, to: interface.index, .skb)
        case .auto: return try XDPLink(attaching: program.program, to: interface.index)
        }
    }

    /// Takes our program off the interface, and all that we made for it.
    func remove() {
        detach()
        forget()
        NATMemory.removePins(in: folder)
        folder.removeIfEmpty()
    }

    /// Whether a program of ours is at the interface, this process's or a former one's.
    var isOccupied: Bool { link != nil }

    /// Leaves no empty folder of pins behind where nothing was attached.
    func leaveIfIdle() {
        if link == nil { folder.removeIfEmpty() }
    }

    private func detach() {
        try? link?.detach()
        link = nil
        folder.remove(Self.pin)
    }

    // MARK: What killed daemons left

    /// Removes what was left for interfaces that are no more, and at interfaces that nobody's listeners name
    /// any more. What a living process holds stays.
    ///
    /// - Parameters:
    ///   - interfaces: all that there are.
    ///   - held: those that this process holds.
    /// - Returns: the interfaces at which something was.
    static func removeLeftovers(
        root: String, interfaces: [HostInterface], but held: Set<UInt32>
    ) -> [HostInterface] {
        let present = Set(interfaces.map { folderName($0.index) })
        let ending = "-net-\(NetworkNamespace.current)"
        PinFolder.removeStale(root: root) { name in
            name.hasPrefix(prefix) && name.hasSuffix(ending) && !present.contains(name)
        }
        return interfaces.filter { interface in
            // Making a hook makes the folder, and the lock tells whether somebody lives.
            guard !held.contains(interface.index),
                PinFolder.exists(root: root, name: folderName(interface.index)),
                let left = try? NATHook(interface, root: root)
            else { return false }
            left.remove()
            return true
        }
    }

    /// What programs at work in this network namespace remember, whoever runs them: each with the
    /// interfaces where it is.
    ///
    /// - Throws: `BPFError` with EACCES or EPERM for somebody who may not look.
    static func memories(
        root: String, interfaces: [HostInterface]
    ) throws(BPFError) -> [(memory: NATMemory, interfaces: [String])] {
        var result: [UInt32: (memory: NATMemory, interfaces: [String])] = [:]
        for interface in interfaces {
            let path = "\(root)/udp-fanout/\(folderName(interface.index))"
            let found: XDPLink?
            do throws(BPFError) {
                found = try XDPLink.pinned(at: "\(path)/\(pin)")
            } catch {
                guard [EACCES, EPERM].contains(error.errno) else { continue }
                throw error
            }
            guard let link = found, link.programNumber != 0,
                let memory = NATMemory(pinnedIn: path)
            else { continue }
            result[memory.number, default: (memory, [])].interfaces.append(interface.name)
        }
        return Array(result.values)
    }
}

/// An interface that the program is to be attached to, and how.
struct WantedHook: Equatable, Sendable {
    let interface: HostInterface
    let attach: XDPAttach

    /// One for each interface that listeners name and, where packets are routed, by which their servers
    /// are reached; those that are there, by number. A listener's own wish goes before what its servers'
    /// interface is taken along with.
    ///
    /// - Parameter left: the interfaces by which answers may still come in.
    static func all(
        of listeners: [Listener], on network: NetworkView, left: Set<UInt32> = []
    ) -> [WantedHook] {
        var wanted: [UInt32: XDPAttach] = [:]
        func want(_ index: UInt32, _ attach: XDPAttach) {
            let known = wanted[index] ?? .auto
            wanted[index] = known == .auto ? attach : known
        }
        for listener in listeners {
            guard let interface = network.interface(named: listener.interface) else { continue }
            want(interface.index, listener.settings.xdpMode)
        }
        for listener in listeners where !listener.nat.isOneArm {
            for address in listener.downstreams.map(\.endpoint.address) {
                guard let index = network.paths[address]?.interface else { continue }
                want(index, listener.settings.xdpMode)
            }
        }
        for index in left { want(index, .auto) }
        return network.interfaces.compactMap { interface in
            wanted[interface.index].map { WantedHook(interface: interface, attach: $0) }
        }
    }
}

/// The interfaces that the program is attached to, with their own link-layer addresses, as lb/nat.h lays them out.
struct HookTable: Equatable, Sendable {
    private let macs: [UInt32: [UInt8]]
    let places: [lb_nat_hook]

    /// - Throws: `BPFError` when more interfaces than there are probes want one place.
    init(_ interfaces: [HostInterface]) throws(BPFError) {
        var places = [lb_nat_hook](repeating: lb_nat_hook(), count: Int(LB_NAT_HOOKS))
        macs = Dictionary(interfaces.map { ($0.index, $0.mac ?? []) }) { first, _ in first }
        for (index, mac) in macs.sorted(by: { $0.key < $1.key }) {
            let near = (0..<Int(LB_NAT_PROBES)).map { (Int(index) + $0) % places.count }
            guard let place = near.first(where: { places[$0].ifindex == 0 }) else {
                throw BPFError(
                    operation: "lay out", subject: "interface \(index)", errno: E2BIG,
                    remedy: "the numbers of several interfaces differ by multiples of "
                        + "\(LB_NAT_HOOKS); make one of the interfaces anew")
            }
            places[place].ifindex = index
            // Where there is no address, packets begin with a header of IP, which never looks like this.
            let mac = mac.count == 6 ? mac : [255, 255, 255, 255, 255, 255]
            places[place].mac = (mac[0], mac[1], mac[2], mac[3], mac[4], mac[5])
        }
        self.places = places
    }

    static func == (left: HookTable, right: HookTable) -> Bool { left.macs == right.macs }
}
