// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF
internal import CNet
package import FanoutCore
internal import Glibc

/// An error of libbpf or the kernel, with its remedy.
public struct BPFError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The operation, such as `load`.
    public let operation: String
    /// The subject: an object, or a program or constant of one, such as `flow_key/lb_flow_key`.
    public let subject: String
    /// The kernel's errno, or a code of libbpf (`LIBBPF_ERRNO__*`, 4000 and above); above 0.
    public let errno: Int32
    /// The name of the errno, or the cause.
    public let reason: String
    /// The remedy.
    public let remedy: String
    /// The last lines of the verifier's log, oldest first; empty unless a program was rejected.
    public let log: [String]
    /// The whole log.
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

    /// The number of log lines to keep: the verifier's verdict and the instructions before it.
    package static let keptLogLines = 12

    /// The lines of a log in the kernel's format, which ends with a NUL.
    package static func lines(of log: some Collection<UInt8>) -> [String] {
        let text = String(decoding: log.prefix { $0 != 0 }, as: UTF8.self)
        return text.split(separator: "\n").map(String.init)
    }

    /// The end of a log in the kernel's format: lines, and a NUL.
    package static func lastLines(of log: some Collection<UInt8>) -> [String] {
        lines(of: log).suffix(keptLogLines)
    }

    /// ENOTSUPP: "operation is not supported" inside the kernel, which some BPF calls return (include/linux/errno.h);
    /// it is not an errno of user space.
    private static let notSupported: Int32 = 524

    /// `EPERM` and the like; libbpf's text for its own codes and the rare ones.
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

extension BPFError {
    /// An interface refused an XDP program. The kernel reports its reason only to a tracepoint
    /// (`bpf:bpf_xdp_link_attach_failed`), so the remedy depends on the errno.
    init(attaching subject: String, to interface: UInt32, _ mode: HookMode, errno code: Int32) {
        let known = Self.name(ofInterface: interface)
        let name = known ?? "\(interface)"
        // For a missing interface the kernel returns EINVAL.
        let code = known == nil && code == EINVAL ? ENODEV : code
        // EBUSY and EEXIST also mean a program of the other mode; one that was just detached is not named.
        if code == EBUSY || code == EEXIST {
            let other = try? XDPOccupant.of(interface: interface)
            self.init(
                operation: "attach", subject: subject, errno: EBUSY,
                reason: other.map {
                    "the XDP program \($0.name ?? "without a name") (number \($0.number), "
                        + "\($0.mode.rawValue)) of another tool is there"
                },
                remedy:
                    "end that tool (bpftool net show dev \(name) and bpftool link show find it; "
                    + "ip link set dev \(name) xdp off removes what no link holds), or use another "
                    + "mode here")
            return
        }
        self.init(
            operation: "attach", subject: "\(subject) (\(mode.rawValue))", errno: code,
            remedy: Self.remedy(for: code, name, mode))
    }

    private static func remedy(for code: Int32, _ name: String, _ mode: HookMode) -> String? {
        switch code {
        case ENODEV: return "there is no such interface any more"
        case EOPNOTSUPP:
            return mode == .skb
                ? nil
                : "the driver has no XDP, or not beside these: "
                    + "ethtool -K \(name) lro off rx-gro-hw off"
        // veth returns ERANGE, other drivers EINVAL.
        case ERANGE, EINVAL:
            return "the MTU may be too large for the driver: ip link set dev \(name) mtu 1500, and "
                + "the same at the other end of a veth"
        // veth compares its queues with its peer's; virtio_net and others need a spare one a CPU.
        case ENOSPC, ENOMEM:
            // SAFETY: the call reads the name before it returns.
            return unsafe cnet_has_combined_queues(name) == 0
                ? "there are too few queues: ethtool -L \(name) rx N tx N (a veth needs as many to "
                    + "receive as its other end has to transmit)"
                : "the driver wants other queues: ethtool -L \(name) combined N"
        default: return nil
        }
    }

    private static func name(ofInterface interface: UInt32) -> String? {
        var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        // SAFETY: the C library writes at most IF_NAMESIZE bytes, NUL included.
        guard unsafe if_indextoname(interface, &name) != nil else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension PlaneError {
    /// A plane's error of libbpf or the kernel.
    ///
    /// - Parameters:
    ///   - oldestKernel: the version of Linux that can verify the plane's program, as `5.12`.
    ///   - lacking: the names of capabilities that loading the program needs and the process does not have. They are
    ///     the cause of a refused program, whatever its verifier reports.
    package init(
        _ error: BPFError, mode: ForwardingMode, oldestKernel: String, lacking: [String]
    ) {
        var (reason, remedy) = (error.reason, error.remedy)
        let isRefused = !error.log.isEmpty || error.errno == EPERM || error.errno == EACCES
        if isRefused, !lacking.isEmpty {
            remedy =
                lacking.joined(separator: " and ") + (lacking.count == 1 ? " is" : " are")
                + " missing, which mode \(mode.rawValue) needs; run as root or grant all that it needs "
                + "(the mode's unit in packaging/systemd does; udp-fanout doctor lists them)"
        } else if !error.log.isEmpty {
            reason =
                (["\(reason), the verifier's last words:"] + error.log)
                .joined(separator: "\n    ") + "\n"
            remedy =
                "mode \(mode.rawValue) needs Linux \(oldestKernel), and this is "
                + "\(BPFRuntimeInfo.kernelRelease); on a newer one " + remedy
        }
        self.init(
            operation: error.operation, subject: error.subject, code: error.errno, reason: reason,
            remedy: remedy)
    }
}
