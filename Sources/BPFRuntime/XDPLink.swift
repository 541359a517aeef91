// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// A program at the XDP hook of an interface (Linux 5.9).
///
/// It is a link, and meant to be pinned, rather than an attachment by netlink, which stays as well when
/// its process is killed:
///
/// - The next process finds the link by its pin, so it knows the program for its own, and puts its
///   program in the place of the one before in one step. To take a program off and put one on is not one:
///   many drivers reset their rings for each, and the whole host loses packets.
/// - While the link is there nobody replaces its program by mistake: `ip link set xdp off` is refused.
/// - What a killed process leaves does no harm: its AF_XDP sockets vanish from the map of sockets, and
///   packets pass to the network stack.
public struct XDPLink: ~Copyable, Sendable {
    private let link: BPFLink
    /// Where it meets packets. It stays so when the program is replaced.
    public let mode: XDPMode
    /// Why it is not native, though that was tried.
    public let nativeRefusal: BPFError?

    /// Attaches in one mode.
    ///
    /// - Throws: `BPFError`: EBUSY and its name when another program is there, ENODEV, and with what to do
    ///   when the driver refuses. Who could load the program may attach it.
    public init(
        attaching program: borrowing BPFProgram, to interface: UInt32, _ mode: XDPMode
    ) throws(BPFError) {
        try self.init(attaching: program, to: interface, mode, after: nil)
    }

    /// As above, after the driver has refused.
    init(
        attaching program: borrowing BPFProgram, to interface: UInt32, _ mode: XDPMode,
        after refusal: BPFError?
    ) throws(BPFError) {
        let subject = "\(program.subject) to interface \(interface)"
        let created = Self.create(program, interface, mode)
        guard created >= 0 else {
            throw BPFError(attaching: subject, to: interface, mode, errno: -created)
        }
        link = BPFLink(owning: created, subject: subject, type: BPF_LINK_TYPE_XDP.rawValue)
        self.mode = mode
        nativeRefusal = refusal
    }

    private static func create(
        _ program: borrowing BPFProgram, _ interface: UInt32, _ mode: XDPMode
    ) -> Int32 {
        var options = unsafe bpf_link_create_opts()
        unsafe options.sz = MemoryLayout<bpf_link_create_opts>.size
        unsafe options.flags = mode.flag
        // SAFETY: libbpf reads the options before it returns.
        return unsafe bpf_link_create(
            program.descriptor, Int32(bitPattern: interface), BPF_XDP, &options)
    }

    /// A link that was pinned, by this process or another.
    ///
    /// - Returns: nil when nothing is there, or the interface of what is there is gone.
    /// - Throws: `BPFError` when something else is there.
    public static func pinned(at path: String) throws(BPFError) -> XDPLink? {
        guard let link = try BPFLink.pinned(at: path, type: BPF_LINK_TYPE_XDP.rawValue) else {
            return nil
        }
        let interface = link.interface
        guard interface != 0, let occupant = try? XDPOccupant.of(interface: interface),
            occupant.number == link.programNumber
        else { return nil }
        return XDPLink(link, occupant.mode)
    }

    private init(_ link: consuming BPFLink, _ mode: XDPMode) {
        self.link = link
        self.mode = mode
        nativeRefusal = nil
    }

    /// The number of the interface; 0 once that is gone, when the link does nothing any more.
    public var interface: UInt32 { link.interface }

    /// The kernel's number of the program; 0 when there is none to be had.
    public var programNumber: UInt32 { link.programNumber }

    /// Exchanges the program: each packet meets the one before or the new one.
    public borrowing func replace(with program: borrowing BPFProgram) throws(BPFError) {
        try link.replace(with: program)
    }

    /// Has the link outlive this process.
    public borrowing func pin(at path: String) throws(BPFError) { try link.pin(at: path) }

    /// Takes the program off the hook, whoever else holds the link.
    public borrowing func detach() throws(BPFError) { try link.detach() }
}

/// Where on an interface an XDP program meets packets.
public enum XDPMode: String, CaseIterable, Sendable {
    /// In the driver, before the kernel makes anything of a packet.
    case native
    /// In the network stack, for drivers without the hook: slower, and behind the driver's own offloads.
    case skb

    /// XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE (include/uapi/linux/if_link.h).
    var flag: UInt32 {
        switch self {
        case .native: 1 << 2
        case .skb: 1 << 1
        }
    }
}

/// The XDP program that an interface has, whoever put it there. There is room for one in each mode, and
/// only one mode at a time is in use.
public struct XDPOccupant: Equatable, Sendable {
    public let mode: XDPMode
    /// The kernel's number of it, as `bpftool prog show` prints it.
    public let number: UInt32
    /// 15 characters at most; nil when it may not be looked at.
    public let name: String?

    /// The program of an interface; nil when it has none.
    ///
    /// - Throws: `BPFError` with ENODEV when there is no such interface.
    public static func of(interface: UInt32) throws(BPFError) -> XDPOccupant? {
        var found = bpf_xdp_query_opts()
        // Up to the last field: libbpf wants zeros behind it.
        found.sz =
            (MemoryLayout<bpf_xdp_query_opts>.offset(of: \.attach_mode)
                ?? MemoryLayout<bpf_xdp_query_opts>.size - 1) + 1
        // SAFETY: libbpf writes within the size that is set.
        let result = unsafe bpf_xdp_query(Int32(bitPattern: interface), 0, &found)
        guard result == 0 else {
            throw BPFError(
                operation: "ask for the XDP program of", subject: "interface \(interface)",
                errno: -result)
        }
        for (mode, number) in [(XDPMode.native, found.drv_prog_id), (.skb, found.skb_prog_id)]
        where number != 0 {
            return XDPOccupant(
                mode: mode, number: number, name: BPFProgram.name(ofNumber: number))
        }
        return nil
    }
}
