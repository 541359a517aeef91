// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import Glibc

/// Something that libbpf or the kernel refused, and what to do about it.
public struct BPFError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was tried, such as `load`.
    public let operation: String
    /// On what: an object, or a program or constant of one, such as `flow_key/lb_flow_key`.
    public let subject: String
    /// The kernel's errno, or a code of libbpf (`LIBBPF_ERRNO__*`, 4000 and above); above 0.
    public let errno: Int32
    /// The name of the errno, or what is wrong.
    public let reason: String
    /// What the reader can do.
    public let remedy: String
    /// The last lines of the verifier's log, oldest first; empty unless a program was rejected.
    public let log: [String]
    /// All of it.
    public let wholeLog: [String]

    public init(
        operation: String, subject: String, errno: Int32, reason: String? = nil,
        remedy: String? = nil, log: [String] = [], wholeLog: [String] = []
    ) {
        self.operation = operation
        self.subject = subject
        self.errno = errno
        self.reason = reason ?? Self.name(of: errno)
        self.remedy = remedy ?? Self.remedy(for: errno, rejected: !log.isEmpty)
        self.log = log
        self.wholeLog = wholeLog
    }

    public var description: String {
        (["\(operation) \(subject): \(reason): \(remedy)"] + log).joined(separator: "\n    ")
    }

    /// How many lines of a verifier's log are kept: the verdict and the instructions before it.
    package static let keptLogLines = 12

    /// The lines of a log as the kernel writes it, a NUL behind.
    package static func lines(of log: some Collection<UInt8>) -> [String] {
        let text = String(decoding: log.prefix { $0 != 0 }, as: UTF8.self)
        return text.split(separator: "\n").map(String.init)
    }

    /// The end of a log as the kernel writes it, lines apart and a NUL behind.
    package static func lastLines(of log: some Collection<UInt8>) -> [String] {
        lines(of: log).suffix(keptLogLines)
    }

    /// ENOTSUPP: "operation is not supported" inside the kernel, which leaks out of some BPF calls
    /// (include/linux/errno.h); no errno of user space.
    private static let notSupported: Int32 = 524

    /// `EPERM` and the like; libbpf's words for codes of its own and the rare ones.
    private static func name(of code: Int32) -> String {
        switch code {
        case EPERM: return "EPERM"
        case ENOENT: return "ENOENT"
        case E2BIG: return "E2BIG"
        case EAGAIN: return "EAGAIN"
        case ENOMEM: return "ENOMEM"
        case EACCES: return "EACCES"
        case EFAULT: return "EFAULT"
        case EBUSY: return "EBUSY"
        case EEXIST: return "EEXIST"
        case ENODEV: return "ENODEV"
        case EINVAL: return "EINVAL"
        case ENOSPC: return "ENOSPC"
        case EROFS: return "EROFS"
        case ENOSYS: return "ENOSYS"
        case EOPNOTSUPP: return "EOPNOTSUPP"
        case notSupported: return "ENOTSUPP"
        default:
            var text = [CChar](repeating: 0, count: 128)
            // SAFETY: libbpf writes at most the count that it is given, NUL included.
            _ = unsafe libbpf_strerror(code, &text, text.count)
            return String(
                decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    private static func remedy(for code: Int32, rejected: Bool) -> String {
        if rejected {
            return "the kernel's verifier rejected the program; report these lines with the output"
                + " of uname -r and --version"
        }
        switch code {
        case EPERM: return "needs CAP_BPF and CAP_NET_ADMIN; run as root or grant both"
        case ENOMEM: return "out of memory; before Linux 5.11, raise the limit of locked memory"
        case ENOSYS: return "needs a kernel with CONFIG_BPF_SYSCALL"
        case ENOSPC: return "the output is longer than the room for it; give more"
        case EOPNOTSUPP, notSupported: return "the kernel cannot do this with this type of program"
        case Int32(LIBBPF_ERRNO__LIBELF.rawValue)...Int32(LIBBPF_ERRNO__ENDIAN.rawValue):
            return "compile the program for target bpf, in this machine's byte order"
        default: return "see bpf(2); the kernel may be too old for this program"
        }
    }
}
