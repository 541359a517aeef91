// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// What ties a program to a hook of an interface. It goes with its last descriptor unless it is pinned;
/// then it stays until it is detached, whatever becomes of the process.
struct BPFLink: ~Copyable, Sendable {
    private let descriptor: Int32
    private let subject: String
    /// enum bpf_link_type.
    private let type: UInt32

    /// - Parameters:
    ///   - owned: an open descriptor, which the link closes.
    ///   - type: what kind of hook it should be at (enum bpf_link_type).
    init(owning owned: Int32, subject: String, type: UInt32) {
        descriptor = owned
        self.subject = subject
        self.type = type
    }

    /// A link that was pinned, by this process or another.
    ///
    /// - Returns: nil when nothing is there.
    /// - Throws: `BPFError` when it cannot be opened.
    static func pinned(at path: String, type: UInt32) throws(BPFError) -> BPFLink? {
        // SAFETY: the path is read before the call returns.
        let descriptor = unsafe bpf_obj_get(path)
        if descriptor == -ENOENT { return nil }
        guard descriptor >= 0 else {
            throw BPFError(operation: "open", subject: path, errno: -descriptor)
        }
        return BPFLink(owning: descriptor, subject: path, type: type)
    }

    deinit { _ = close(descriptor) }

    /// The number of the interface; 0 once that is gone, when the link does nothing any more, and of
    /// what is no link of its type.
    var interface: UInt32 {
        // The kernel's words on a TCX link begin with the interface, as those on an XDP link do, which
        // older headers know as well.
        guard let info, info.type == type else { return 0 }
        return info.xdp.ifindex
    }

    /// The kernel's number of the program; 0 when there is none to be had.
    var programNumber: UInt32 { info?.prog_id ?? 0 }

    private var info: bpf_link_info? {
        var info = bpf_link_info()
        var size = UInt32(MemoryLayout<bpf_link_info>.size)
        // SAFETY: the kernel writes at most `size` bytes.
        guard unsafe bpf_obj_get_info_by_fd(descriptor, &info, &size) == 0 else { return nil }
        return info
    }

    /// Exchanges the program: each packet meets the one before or the new one.
    borrowing func replace(with program: borrowing BPFProgram) throws(BPFError) {
        // SAFETY: no options are given.
        let result = bpf_link_update(descriptor, program.descriptor, nil)
        guard result == 0 else {
            throw BPFError(operation: "replace program", subject: subject, errno: -result)
        }
    }

    /// Has the link outlive this process.
    borrowing func pin(at path: String) throws(BPFError) {
        // SAFETY: the path is read before the call returns.
        let result = unsafe bpf_obj_pin(descriptor, path)
        guard result == 0 else {
            throw BPFError(operation: "pin", subject: path, errno: -result)
        }
    }

    /// Takes the program off the hook, whoever else holds the link.
    borrowing func detach() throws(BPFError) {
        let result = bpf_link_detach(descriptor)
        // ENOLINK: the interface went, and the program with it.
        guard result == 0 || result == -ENOLINK else {
            throw BPFError(operation: "detach", subject: subject, errno: -result)
        }
    }
}

/// A program at the ingress hook of an interface, by TCX (Linux 6.6): side by side with those of other
/// tools, and exchanged for another program in one step.
///
/// The link goes with its last descriptor unless it is pinned; then it stays until it is detached.
public struct TCXLink: ~Copyable, Sendable {
    private let link: BPFLink

    /// BPF_TCX_INGRESS and BPF_LINK_TYPE_TCX (include/uapi/linux/bpf.h), which headers before 6.6 lack.
    private static let ingress = bpf_attach_type(rawValue: 46)
    private static let type: UInt32 = 11

    /// Puts the program behind those that are there already.
    ///
    /// - Throws: `BPFError`; EINVAL also means that the kernel has no TCX.
    public init(attaching program: borrowing BPFProgram, to interface: UInt32) throws(BPFError) {
        let subject = "\(program.subject) to interface \(interface)"
        // SAFETY: no options are given.
        let created = bpf_link_create(
            program.descriptor, Int32(bitPattern: interface), Self.ingress, nil)
        guard created >= 0 else {
            throw BPFError(
                operation: "attach", subject: subject, errno: -created,
                remedy: created == -EINVAL ? "TCX needs Linux 6.6; use clsact" : nil)
        }
        link = BPFLink(owning: created, subject: subject, type: Self.type)
    }

    /// A link that was pinned, by this process or another.
    ///
    /// - Returns: nil when nothing is there.
    /// - Throws: `BPFError` when something else is.
    public static func pinned(at path: String) throws(BPFError) -> TCXLink? {
        guard let link = try BPFLink.pinned(at: path, type: Self.type) else { return nil }
        return TCXLink(link)
    }

    private init(_ link: consuming BPFLink) { self.link = link }

    /// The number of the interface; 0 once that is gone, when the link does nothing any more, and of
    /// what is no such link.
    public var interface: UInt32 { link.interface }

    /// Exchanges the program: each packet meets the one before or the new one.
    public borrowing func replace(with program: borrowing BPFProgram) throws(BPFError) {
        try link.replace(with: program)
    }

    /// Has the link outlive this process.
    public borrowing func pin(at path: String) throws(BPFError) { try link.pin(at: path) }

    /// Takes the program off the hook, whoever else holds the link.
    public borrowing func detach() throws(BPFError) { try link.detach() }
}

/// A program of a section `tp_btf/NAME` at the tracepoint NAME. It goes with the link.
package struct TracepointLink: ~Copyable, Sendable {
    private let link: BPFLink

    /// - Throws: `BPFError` with EPERM when CAP_BPF or CAP_PERFMON is missing.
    package init(attaching program: borrowing BPFProgram) throws(BPFError) {
        // The kernel has the name from the program.
        let opened = bpf_raw_tracepoint_open(nil, program.descriptor)
        guard opened >= 0 else {
            throw BPFError(operation: "attach", subject: program.subject, errno: -opened)
        }
        link = BPFLink(
            owning: opened, subject: program.subject, type: BPF_LINK_TYPE_TRACING.rawValue)
    }
}
