// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import CReusePortLB
internal import Glibc

/// A group of sockets on one address and port, whose members a BPF program chooses among.
///
/// A member is a socket in a *slot* below the group's *count*. All packets of one source reach the
/// member that the slot table names for it; while that member is gone, another one stands in, and nobody
/// else's sources move.
///
/// The group lasts beyond this value: pins keep it until ``destroy(_:pinRoot:)``, and a private group
/// lasts as long as a member's socket. All functions may be called from any thread.
public struct ReusePortGroup: ~Copyable, Sendable {
    /// Where groups are pinned unless options say otherwise: `/sys/fs/bpf`.
    public static let defaultPinRoot = RPLB_PIN_ROOT
    /// Slots that a group can have: 128.
    public static let maximumCount = Int(RPLB_MEMBERS_MAX)

    /// nil for a private group.
    public let name: String?
    let handle: GroupHandle

    /// Opens the group `name` below the pin root, and creates it if need be.
    ///
    /// Creating needs CAP_BPF and CAP_NET_ADMIN, or root; opening needs only the right to read and write
    /// the pins.
    ///
    /// - Parameters:
    ///   - name: 1...64 characters without `/` and `.`.
    ///   - options: a new group needs at least a count.
    /// - Throws: `.notFound` without a count, or when only an existing group would do; `.outOfRange` with
    ///   a count out of range; `.noBPFFileSystem`, `.notPermitted`, `.accessDenied`, `.settingsDiffer`, `.busy`,
    ///   `.otherVersion`, `.kernelTooOld`, `.timedOut`, `.invalid`.
    public init(
        _ name: String, _ options: GroupOptions = GroupOptions()
    ) throws(ReusePortError) {
        self.name = name
        handle = try GroupHandle(name, options)
    }

    /// Makes a group that no other process can open and that leaves nothing behind.
    ///
    /// - Parameter options: where it is pinned, its owner and mode mean nothing here.
    public init(private options: GroupOptions) throws(ReusePortError) {
        name = nil
        handle = try GroupHandle(nil, options)
    }

    /// Puts a socket into a slot, from which moment on the packets of the slot's sources reach it; and
    /// gives the group the count that it was opened with, if it has another.
    ///
    /// A UDP socket must be bound, a TCP socket must listen, both with SO_REUSEPORT set before. No packet
    /// is dropped in between.
    ///
    /// - Parameters:
    ///   - socket: in no slot yet, and bound where the other members are.
    ///   - slot: below the group's count.
    /// - Returns: the membership, which ends when it is left or goes out of scope. It keeps the socket
    ///   open so long.
    /// - Throws: `.slotTaken`, `.outOfRange`, `.busy` when the socket is in a slot already,
    ///   `.otherAddress`, `.notBound`, `.notSharingPort`, `.wrongSocket`, `.timedOut`.
    public borrowing func join(
        _ socket: borrowing ReusePortSocket, slot: Int
    ) throws(ReusePortError) -> Membership {
        try Membership(handle, socket.handle, slot: slot)
    }

    /// The same for a socket that stays the caller's. Once the caller has closed it the slot is empty,
    /// and the end of the membership changes nothing.
    public borrowing func join(
        descriptor: Int32, slot: Int
    ) throws(ReusePortError) -> Membership {
        try Membership(handle, SocketHandle(borrowing: descriptor), slot: slot)
    }

    /// Attaches the program to the sockets on a socket's port without joining, so that the members'
    /// choice holds for sockets that others have bound.
    public borrowing func attach(descriptor: Int32) throws(ReusePortError) {
        try check(
            unsafe rplb_attach(handle.native, descriptor), "attach the program of", handle.subject,
            RPLB_CALL_JOIN)
    }

    /// Gives the group another count, 1...``maximumCount``.
    ///
    /// - Throws: `.busy` when a live member would be cut off.
    public borrowing func resize(count: Int) throws(ReusePortError) {
        let wanted = UInt32(exactly: count) ?? .max
        try check(
            unsafe rplb_resize(handle.native, wanted), "resize to \(count) members", handle.subject,
            RPLB_CALL_RESIZE)
    }

    /// Removes the pins of a group, half-built ones too.
    ///
    /// - Parameters:
    ///   - name: as it was created with.
    ///   - pinRoot: nil for ``defaultPinRoot``.
    /// - Throws: `.busy` while a member lives; `.notFound`, `.accessDenied`, `.otherVersion`,
    ///   `.timedOut`.
    public static func destroy(_ name: String, pinRoot: String? = nil) throws(ReusePortError) {
        let result = unsafe withOptionalCString(pinRoot) { root in
            unsafe rplb_group_destroy(root, name)
        }
        guard result == 0 else {
            // Of pins and root only the C library knows which was in the way.
            let remedy = -result == EACCES ? nil : PinRoot(pinRoot).remedy(errno: -result)
            throw ReusePortError(
                "destroy", "group \(name)", errno: -result, RPLB_CALL_DESTROY, remedy: remedy)
        }
    }

    /// The version of the layout of the pins, which a group of another version is refused for.
    public static var abiVersion: Int { Int(LB_ABI_VERSION) }

    /// The version of the C library, such as `0.1.0`.
    public static var libraryVersion: String { unsafe String(cString: rplb_version()) }
}
