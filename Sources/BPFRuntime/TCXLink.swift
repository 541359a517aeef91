// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

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
