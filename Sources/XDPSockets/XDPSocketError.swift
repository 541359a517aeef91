// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// An error of an AF_XDP socket, with its remedy.
public struct XDPSocketError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The operation, such as `bind`.
    public let operation: String
    /// The subject, such as `interface eth0 queue 2`.
    public let subject: String
    /// Above 0.
    public let errno: Int32
    /// The name of the errno, or the cause.
    public let reason: String
    /// The remedy.
    public let remedy: String

    init(
        operation: String, subject: String, errno: Int32, reason: String? = nil, remedy: String
    ) {
        self.operation = operation
        self.subject = subject
        self.errno = errno
        // SAFETY: it returns a static, NUL-terminated string for every code.
        self.reason = unsafe reason ?? String(cString: cnet_error_name(errno))
        self.remedy = remedy
    }

    public var description: String { "\(operation) \(subject): \(reason): \(remedy)" }
}

extension XDPSocketError {
    /// The kernel refused memory for frames (net/xdp/xdp_umem.c).
    init(registering shape: Umem.Shape, errno: Int32) {
        let remedy =
            switch errno {
            case EPERM: Self.capability
            case EAFNOSUPPORT: Self.kernelOption
            case ENOBUFS:
                "locked memory is limited (memlock): raise it to \(shape.bytes / 1024) KiB more than "
                    + "is in use (ulimit -l, or LimitMEMLOCK= of the unit), or grant CAP_IPC_LOCK"
            case ENOMEM: "out of memory: ask for fewer frames"
            default: "see Documentation/networking/af_xdp.rst; the kernel may be too old"
            }
        self.init(
            operation: "register", subject: "\(shape)", errno: errno, remedy: remedy)
    }

    /// An invalid shape.
    init(impossible shape: Umem.Shape, _ reason: String) {
        self.init(
            operation: "register", subject: "\(shape)", errno: EINVAL, reason: reason,
            remedy: "give 2048 or 4096 bytes, and powers of two for all counts")
    }

    /// A socket could not be created or bound (net/xdp/xsk.c, xsk_bind).
    init(opening queue: InterfaceQueue, errno: Int32, waited: Duration) {
        let name = queue.interfaceName ?? "\(queue.interface)"
        let remedy =
            switch errno {
            case EPERM: Self.capability
            case EAFNOSUPPORT: Self.kernelOption
            case EBUSY:
                "another AF_XDP socket has this queue, and kept it for \(waited); stop its program, or "
                    + "name another interface"
            case ENODEV: "there is no such interface any more; ip link show lists those that exist"
            case ENETDOWN: "bring the interface up: ip link set dev \(name) up"
            case EOPNOTSUPP:
                "the driver cannot read and write frames itself, or not at this MTU: do not ask for "
                    + "zero copy, or lower the MTU: ip link set dev \(name) mtu 1500"
            case EINVAL:
                "the interface has no such queue (ethtool -l \(name) shows them, ethtool -L \(name) "
                    + "\(Self.queueWords(name)) alters them), or its MTU does not fit its frames: "
                    + "ip link set dev \(name) mtu 1500"
            case ENOBUFS, ENOMEM: "out of memory: ask for shorter rings"
            case EMFILE: "raise the limit of open files (ulimit -n)"
            default: "see Documentation/networking/af_xdp.rst; the kernel may be too old"
            }
        self.init(
            operation: "open AF_XDP socket on", subject: "\(queue)", errno: errno, remedy: remedy)
    }

    /// The socket refused an option.
    init(setting option: String, on queue: InterfaceQueue, errno: Int32) {
        self.init(
            operation: "set \(option) of", subject: "\(queue)", errno: errno,
            remedy: errno == EPERM
                ? "needs CAP_NET_ADMIN; or leave busy polling out"
                : "needs Linux 5.11; or leave busy polling out")
    }

    /// The arguments of ethtool(8) for another number of queues.
    private static func queueWords(_ name: String) -> String {
        // SAFETY: the call reads the name before it returns.
        unsafe cnet_has_combined_queues(name) == 0 ? "rx N tx N" : "combined N"
    }

    private static let capability = "needs CAP_NET_RAW; run as root or grant it"
    private static let kernelOption = "needs a kernel with CONFIG_XDP_SOCKETS"
}
