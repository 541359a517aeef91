// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// The hook of a program on an interface. The raw value is its name in logs, metrics and status.
public enum HookMode: String, CaseIterable, Sendable {
    /// TCX at ingress (Linux 6.6), beside the programs of other tools.
    case tcx
    /// A filter of a clsact queueing discipline, for kernels without TCX.
    case clsact
    /// XDP in the driver, before the kernel allocates anything for a packet.
    case native
    /// XDP in the network stack, for drivers without the hook: slower, and after the driver's own offloads.
    case skb

    package var isXDP: Bool { self == .native || self == .skb }

    /// Whether another mode may work where this one failed.
    package func allowsFallback(after error: BPFError) -> Bool {
        switch self {
        case .tcx: error.errno == EINVAL
        case .native: ![EPERM, ENODEV, EBUSY].contains(error.errno)
        case .clsact, .skb: false
        }
    }

    /// BPF_TCX_INGRESS is 46 (include/uapi/linux/bpf.h); headers before 6.6 lack it.
    fileprivate var attachType: bpf_attach_type {
        isXDP ? BPF_XDP : bpf_attach_type(rawValue: 46)
    }

    /// enum bpf_link_type; BPF_LINK_TYPE_TCX is 11.
    fileprivate var linkType: UInt32 { isXDP ? BPF_LINK_TYPE_XDP.rawValue : 11 }

    /// XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE (include/uapi/linux/if_link.h).
    fileprivate var flags: UInt32 {
        switch self {
        case .native: 1 << 2
        case .skb: 1 << 1
        case .tcx, .clsact: 0
        }
    }
}

/// A BPF link that holds a program at a hook of an interface, in any mode but `clsact`. XDP links need Linux 5.9.
///
/// The link goes with its last descriptor unless it is pinned; a pinned link stays until it is detached. Planes
/// pin links instead of attaching by netlink:
///
/// - The next process finds the link by its pin, knows that the program is its own, and replaces it in one step.
///   Detaching and attaching is not one step: many drivers reset their rings, and the whole host loses packets.
/// - Nothing replaces the program by mistake: `ip link set xdp off` is refused.
public struct HookLink: ~Copyable, Sendable {
    /// Stays the same when the program is replaced.
    public let mode: HookMode
    private let descriptor: Int32
    private let subject: String

    private init(owning descriptor: Int32, _ subject: String, _ mode: HookMode) {
        self.descriptor = descriptor
        self.subject = subject
        self.mode = mode
    }

    deinit { _ = close(descriptor) }

    /// Attaches a program. At TCX it runs after the existing programs.
    ///
    /// - Throws: `BPFError`: EBUSY with the name of another XDP program, ENODEV, EINVAL on a kernel without TCX,
    ///   or with a remedy when the driver refuses. A process that could load the program may attach it.
    public init(
        attaching program: borrowing BPFProgram, to interface: UInt32, _ mode: HookMode
    ) throws(BPFError) {
        try self.init(program.descriptor, program.subject, interface, mode)
    }

    /// Attaches the program's kind for the mode.
    package init(
        attaching program: HookProgram, to interface: UInt32, _ mode: HookMode
    ) throws(BPFError) {
        try self.init(program.descriptor(in: mode), program.subject, interface, mode)
    }

    private init(
        _ program: Int32, _ name: String, _ interface: UInt32, _ mode: HookMode
    ) throws(BPFError) {
        let subject = "\(name) to interface \(interface)"
        var options = unsafe bpf_link_create_opts()
        unsafe options.sz = MemoryLayout<bpf_link_create_opts>.size
        unsafe options.flags = mode.flags
        // SAFETY: libbpf reads the options before it returns.
        let created = unsafe bpf_link_create(
            program, Int32(bitPattern: interface), mode.attachType, &options)
        guard created >= 0 else {
            if mode.isXDP {
                throw BPFError(attaching: subject, to: interface, mode, errno: -created)
            }
            throw BPFError(
                operation: "attach", subject: subject, errno: -created,
                remedy: created == -EINVAL ? "TCX needs Linux 6.6; use clsact" : nil)
        }
        self.init(owning: created, subject, mode)
    }

    /// A link that this process or another one pinned.
    ///
    /// - Returns: nil when there is no pin, or the interface of the link is gone.
    /// - Throws: `BPFError` when the pin cannot be opened.
    public static func pinned(at path: String) throws(BPFError) -> HookLink? {
        // SAFETY: the path is read before the call returns.
        let descriptor = unsafe bpf_obj_get(path)
        if descriptor == -ENOENT { return nil }
        guard descriptor >= 0 else {
            throw BPFError(operation: "open", subject: path, errno: -descriptor)
        }
        guard let mode = mode(of: descriptor) else {
            _ = close(descriptor)
            return nil
        }
        return HookLink(owning: descriptor, path, mode)
    }

    private static func mode(of descriptor: Int32) -> HookMode? {
        guard let info = kernelInfo(of: descriptor, bpf_link_info()), info.xdp.ifindex != 0 else {
            return nil
        }
        if info.type == HookMode.tcx.linkType { return .tcx }
        guard info.type == HookMode.native.linkType,
            let occupant = try? XDPOccupant.of(interface: info.xdp.ifindex),
            occupant.number == info.prog_id
        else { return nil }
        return occupant.mode
    }

    /// The index of the interface; 0 when the interface is gone or the link is detached.
    public var interface: UInt32 {
        // The kernel's data of a TCX link start with the interface, as those of an XDP link do, which older headers
        // have as well.
        kernelInfo(of: descriptor, bpf_link_info())?.xdp.ifindex ?? 0
    }

    /// The kernel's ID of the program; 0 when the kernel does not report it.
    public var programNumber: UInt32 {
        kernelInfo(of: descriptor, bpf_link_info())?.prog_id ?? 0
    }

    /// Replaces the program in one step: each packet sees the previous or the new one.
    public borrowing func replace(with program: HookProgram) throws(BPFError) {
        let result = bpf_link_update(descriptor, program.descriptor(in: mode), nil)
        guard result == 0 else {
            throw BPFError(operation: "replace program", subject: subject, errno: -result)
        }
    }

    /// Pins the link, so that it outlives this process.
    public borrowing func pin(at path: String) throws(BPFError) {
        // SAFETY: the path is read before the call returns.
        let result = unsafe bpf_obj_pin(descriptor, path)
        guard result == 0 else {
            throw BPFError(operation: "pin", subject: path, errno: -result)
        }
    }

    /// Detaches the program, even if other references to the link exist.
    public borrowing func detach() throws(BPFError) {
        let result = bpf_link_detach(descriptor)
        // ENOLINK: the interface is gone, and the program with it.
        guard result == 0 || result == -ENOLINK else {
            throw BPFError(operation: "detach", subject: subject, errno: -result)
        }
    }
}

/// A program of a section `tp_btf/NAME` at the tracepoint NAME. It is detached with the link.
package struct TracepointLink: ~Copyable, Sendable {
    private let descriptor: Int32

    /// - Throws: `BPFError` with EPERM when CAP_BPF or CAP_PERFMON is missing.
    package init(attaching program: borrowing BPFProgram) throws(BPFError) {
        // The kernel takes the name from the program.
        descriptor = bpf_raw_tracepoint_open(nil, program.descriptor)
        guard descriptor >= 0 else {
            throw BPFError(operation: "attach", subject: program.subject, errno: -descriptor)
        }
    }

    deinit { _ = close(descriptor) }
}

/// The XDP program of an interface, from any process. There is room for one in each mode, and only one mode at a time
/// is in use.
public struct XDPOccupant: Equatable, Sendable {
    public let mode: HookMode
    /// The kernel's ID of it, as `bpftool prog show` prints it.
    public let number: UInt32
    /// At most 15 characters; nil without the privilege to read it.
    public let name: String?

    /// The program of an interface; nil when it has none.
    ///
    /// - Throws: `BPFError` with ENODEV when there is no such interface.
    public static func of(interface: UInt32) throws(BPFError) -> XDPOccupant? {
        var found = bpf_xdp_query_opts()
        // Up to the last field: libbpf requires zeros after it.
        found.sz =
            (MemoryLayout<bpf_xdp_query_opts>.offset(of: \.attach_mode)
                ?? MemoryLayout<bpf_xdp_query_opts>.size - 1) + 1
        // SAFETY: libbpf writes within the size that is set.
        let result = unsafe bpf_xdp_query(Int32(bitPattern: interface), 0, &found)
        guard result == 0 else {
            throw BPFError(
                operation: "read the XDP program of", subject: "interface \(interface)",
                errno: -result)
        }
        for (mode, number) in [(HookMode.native, found.drv_prog_id), (.skb, found.skb_prog_id)]
        where number != 0 {
            return XDPOccupant(
                mode: mode, number: number, name: BPFProgram.name(ofNumber: number))
        }
        return nil
    }
}

/// The kernel's information about a program, map or link; nil when it reports none.
///
/// - Parameter empty: a C structure without pointers to Swift's memory.
func kernelInfo<Info>(of descriptor: Int32, _ empty: Info) -> Info? {
    var info = empty
    var size = UInt32(MemoryLayout<Info>.size)
    // SAFETY: the kernel writes at most `size` bytes of a C structure.
    let result = unsafe withUnsafeMutableBytes(of: &info) { bytes in
        unsafe bpf_obj_get_info_by_fd(descriptor, bytes.baseAddress, &size)
    }
    return result == 0 ? info : nil
}

extension String {
    /// The text in a C array, up to its NUL.
    init(array: some BitwiseCopyable) {
        // SAFETY: the bytes of a trivial value, copied before the closure returns.
        self = unsafe withUnsafeBytes(of: array) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
