// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import CReusePortLB
internal import Glibc

/// An error of a group or a socket, on one line:
/// `join slot 2 of group netflow: EEXIST: a live member has the slot; …`.
public struct ReusePortError: Error, Equatable, Sendable {
    /// The operation, such as `join slot 2 of`.
    public let operation: String
    /// The subject, such as `group netflow` or `127.0.0.1:2055`.
    public let subject: String
    /// The kernel's or the library's errno, positive.
    public let errno: Int32
    /// The kind of error, for programs.
    public let code: Code
    /// What the errno means here, and a remedy.
    public let remedy: String

    /// The kinds of errors.
    public enum Code: Hashable, Sendable, CaseIterable {
        /// A name, count or option is malformed.
        case invalid
        /// The slot is not below the count, or the count not in 1...capacity.
        case outOfRange
        /// A live member has the slot.
        case slotTaken
        /// The socket is in a slot already; or a live member prevents a lower count or the end of
        /// the group.
        case busy
        /// There is no such group, and no count to create one; or the socket is in none of its slots.
        case notFound
        /// The pin root is no BPF file system.
        case noBPFFileSystem
        /// There is no such group, and the privilege to create one is missing (CAP_BPF, CAP_NET_ADMIN, and write
        /// permission in the pin root).
        case notPermitted
        /// The pins belong to another user, or the caller may not search a folder above them; of a socket: its port is
        /// privileged.
        case accessDenied
        /// The group exists with another key, payload key or seed.
        case settingsDiffer
        /// The pins were made by another version, or by another program.
        case otherVersion
        /// The kernel is too old (Linux 4.19 is required), or the group is a fallback (``GroupOptions/allowsFallback``).
        case unsupported
        /// The kernel or libbpf refused the program; ``GroupOptions/log`` has the reason.
        case programRefused
        /// Another process has held the group's lock for too long.
        case timedOut
        /// The descriptor is no UDP or TCP socket over IP.
        case wrongSocket
        /// The socket is not bound; a TCP socket has to listen as well.
        case notBound
        /// The socket was bound without SO_REUSEPORT.
        case notSharingPort
        /// The group's members are bound to another address or port.
        case otherAddress
        /// Another socket without SO_REUSEPORT, or of another uid, has the address.
        case addressInUse
        /// There is no such process.
        case noSuchProcess
        /// The process has no bound UDP socket with SO_REUSEPORT, or none on that port.
        case noSuchSocket
        /// The process has several such sockets; name the port.
        case severalSockets
        /// Memory or descriptors have run out.
        case noResources
        /// Anything else; see ``ReusePortError/errno``.
        case other
    }

    /// - Parameters:
    ///   - call: the call whose errors to explain.
    ///   - remedy: a better remedy than the C library's; nil for the library's.
    init(
        _ operation: String, _ subject: String, errno: Int32, _ call: rplb_call = RPLB_CALL_ANY,
        remedy: String? = nil
    ) {
        self.operation = operation
        self.subject = subject
        self.errno = errno
        code = Code(errno: errno)
        // SAFETY: a constant, NUL-terminated string for every errno.
        let meaning = unsafe String(cString: rplb_explain_call(call, errno))
        self.remedy = remedy ?? meaning
    }
}

extension ReusePortError: CustomStringConvertible {
    /// The errno's name, such as `EEXIST`.
    public var errnoName: String {
        // SAFETY: a constant, NUL-terminated string for every errno.
        unsafe String(cString: cnet_error_name(errno))
    }

    public var description: String { "\(operation) \(subject): \(errnoName): \(remedy)" }
}

extension ReusePortError.Code {
    /// The errnos are those in reuseport_lb.h.
    init(errno: Int32) {
        self =
            switch errno {
            case EINVAL: .invalid
            case ERANGE: .outOfRange
            case EEXIST: .slotTaken
            case EBUSY: .busy
            case ENOENT: .notFound
            case ENODEV: .noBPFFileSystem
            case EPERM: .notPermitted
            case EACCES: .accessDenied
            case ESTALE: .settingsDiffer
            case EPROTONOSUPPORT: .otherVersion
            case EOPNOTSUPP: .unsupported
            case ENOEXEC: .programRefused
            case ETIMEDOUT: .timedOut
            case ENOTSOCK, EPROTOTYPE, EBADF: .wrongSocket
            case EDESTADDRREQ, ENOTCONN: .notBound
            case ENOPROTOOPT: .notSharingPort
            case EADDRNOTAVAIL: .otherAddress
            case EADDRINUSE: .addressInUse
            case ESRCH: .noSuchProcess
            case ENXIO: .noSuchSocket
            case ENOTUNIQ: .severalSockets
            case EMFILE, ENFILE, ENOMEM, ENOBUFS: .noResources
            default: .other
            }
    }
}

/// Turns C results, 0 or -errno, into errors.
@inline(__always)
func check(
    _ result: Int32, _ operation: @autoclosure () -> String, _ subject: @autoclosure () -> String,
    _ call: rplb_call = RPLB_CALL_ANY
) throws(ReusePortError) {
    if result < 0 { throw ReusePortError(operation(), subject(), errno: -result, call) }
}

// Code with `import ReusePortLB` must be able to create addresses. A typealias would name the types but hide their
// initialisers and members, which belong to the module that declares them. So exactly these three declarations are
// exported.
@_exported public import struct FanoutCore.Endpoint
@_exported public import struct FanoutCore.IPAddress
@_exported public import struct FanoutCore.PayloadKey
