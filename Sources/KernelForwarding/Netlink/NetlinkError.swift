// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// A netlink request that the kernel refused.
public struct NetlinkError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The operation, such as `look up the route to`.
    public let operation: String
    /// The subject: an interface or an address.
    public let subject: String
    /// The kernel's errno, above 0.
    public let errno: Int32
    /// The kernel's own message about this request, when it sent one (netlink's extended acknowledgement, Linux 4.12).
    public let detail: String?
    /// The remedy.
    public let remedy: String

    public init(
        operation: String, subject: String, errno: Int32, detail: String? = nil,
        remedy: String? = nil
    ) {
        self.operation = operation
        self.subject = subject
        self.errno = errno
        self.detail = detail
        self.remedy = remedy ?? Self.remedy(for: errno)
    }

    /// The errno by name: `ENODEV`.
    public var name: String {
        // SAFETY: it returns a static, NUL-terminated string for every code, as the next one does.
        unsafe String(cString: cnet_error_name(errno))
    }

    /// The errno's name with its text: `ENODEV (No such device)`, or the detail when there is one.
    public var reason: String {
        unsafe "\(name) (\(detail ?? String(cString: cnet_error_text(errno))))"
    }

    public var description: String { "\(operation) \(subject): \(reason): \(remedy)" }

    private static func remedy(for code: Int32) -> String {
        switch code {
        case ENODEV, ENXIO: "the interface is gone; see ip link"
        case EPERM, EACCES: "a security policy forbids it; the process may use AF_NETLINK sockets"
        case EMFILE, ENFILE: "raise the limit of open files (ulimit -n)"
        case EAFNOSUPPORT, EPROTONOSUPPORT: "the kernel lacks this family of addresses"
        case EINTR: "the tables change faster than they can be read; try again"
        case ENOBUFS, ENOMEM: "the kernel is short of memory; try again"
        case EOPNOTSUPP: "the kernel is too old for this request"
        default: "see rtnetlink(7)"
        }
    }
}
