// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// A program at the ingress hook of an interface, by TCX (Linux 6.6): side by side with those of other
/// tools, and exchanged for another program in one step.
///
/// The link goes with its last descriptor unless it is pinned; then it stays until it is detached.
public struct TCXLink: ~Copyable, Sendable {
    private let descriptor: Int32
    private let subject: String

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
        self.init(descriptor: created, subject: subject)
    }

    /// A link that was pinned, by this process or another.
    ///
    /// - Returns: nil when nothing is there.
    /// - Throws: `BPFError` when something else is.
    public static func pinned(at path: String) throws(BPFError) -> TCXLink? {
        // SAFETY: the path is read before the call returns.
        let descriptor = unsafe bpf_obj_get(path)
        if descriptor == -ENOENT { return nil }
        guard descriptor >= 0 else {
            throw BPFError(operation: "open", subject: path, errno: -descriptor)
        }
        return TCXLink(descriptor: descriptor, subject: path)
    }

    private init(descriptor: Int32, subject: String) {
        self.descriptor = descriptor
        self.subject = subject
    }

    deinit { _ = close(descriptor) }

    /// The number of the interface; 0 once that is gone, when the link does nothing any more, and of
    /// what is no such link.
    public var interface: UInt32 {
        var info = bpf_link_info()
        var size = UInt32(MemoryLayout<bpf_link_info>.size)
        // SAFETY: the kernel writes at most `size` bytes. Its words on a TCX link begin with the
        // interface, as those on an XDP link do, which older headers know as well.
        guard unsafe bpf_obj_get_info_by_fd(descriptor, &info, &size) == 0, info.type == Self.type
        else { return 0 }
        return info.xdp.ifindex
    }

    /// Exchanges the program: each packet meets the one before or the new one.
    public borrowing func replace(with program: borrowing BPFProgram) throws(BPFError) {
        // SAFETY: no options are given.
        let result = bpf_link_update(descriptor, program.descriptor, nil)
        guard result == 0 else {
            throw BPFError(operation: "replace program", subject: subject, errno: -result)
        }
    }

    /// Has the link outlive this process.
    public borrowing func pin(at path: String) throws(BPFError) {
        // SAFETY: the path is read before the call returns.
        let result = unsafe bpf_obj_pin(descriptor, path)
        guard result == 0 else {
            throw BPFError(operation: "pin", subject: path, errno: -result)
        }
    }

    /// Takes the program off the hook, whoever else holds the link.
    public borrowing func detach() throws(BPFError) {
        let result = bpf_link_detach(descriptor)
        // ENOLINK: the interface went, and the program with it.
        guard result == 0 || result == -ENOLINK else {
            throw BPFError(operation: "detach", subject: subject, errno: -result)
        }
    }
}
