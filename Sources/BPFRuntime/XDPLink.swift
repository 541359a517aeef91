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
