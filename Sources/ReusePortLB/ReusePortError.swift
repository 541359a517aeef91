// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import CReusePortLB

/// What went wrong with a group or a socket, on one line:
/// `join slot 2 of group netflow: EEXIST: a live member has the slot; …`.
public struct ReusePortError: Error, Equatable, Sendable {
    /// What was tried, such as `join slot 2 of`.
    public let operation: String
    /// What it was tried on, such as `group netflow` or `127.0.0.1:2055`.
    public let subject: String
    /// The kernel's or the library's errno, positive.
    public let errno: Int32
    /// What to tell apart in a program; `errno` in words.
    public let code: Code
    /// What the errno means here, and what helps against it.
    public let remedy: String

    /// What a program may want to react to.
    public enum Code: Hashable, Sendable, CaseIterable {
        /// A name, count or option is malformed.
        case invalid
        /// The slot is not below the count, or the count not in 1...``ReusePortGroup/maximumCount``.
        case outOfRange
        /// A live member has the slot.
        case slotTaken
        /// The socket is in a slot already; or a live member stands in the way of a lower count or
        /// of the end of the group.
        case busy
        /// There is no such group, or the socket is in none of its slots.
        case notFound
        /// The pin root is no BPF file system.
        case noBPFFileSystem
        /// The privilege to load a program is missing (CAP_BPF and CAP_NET_ADMIN).
        case notPermitted
        /// The pins, or a folder above them, belong to someone else.
        case accessDenied
        /// The group exists with another key or seed.
        case settingsDiffer
        /// The pins were made by another version, or by another program.
        case otherVersion
        /// The kernel lacks what is needed (Linux 4.19).
        case kernelTooOld
        /// The kernel or libbpf refused the program; the log says why.
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
        /// Someone without SO_REUSEPORT, or of another uid, has the address.
        case addressInUse
        /// Memory or descriptors have run out.
        case noResources
        /// Anything else; see ``ReusePortError/errno``.
        case other
    }

    init(_ operation: String, _ subject: String, errno: Int32) {
        self.operation = operation
        self.subject = subject
        self.errno = errno
        code = Code(errno: errno)
        // SAFETY: a constant, NUL-terminated string for every errno.
        remedy = unsafe String(cString: rplb_explain(errno))
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
