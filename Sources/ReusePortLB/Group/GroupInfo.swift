// SPDX-License-Identifier: Apache-2.0

internal import CReusePortLB
internal import Glibc
internal import Synchronization

/// What is fixed or agreed about a group.
public struct GroupInfo: Hashable, Sendable {
    /// Members that the group is meant to have.
    public let count: Int
    public let key: ReusePortGroup.Key
    public let seed: UInt64
    /// What the members are bound to; nil before the first has joined.
    public let address: Endpoint?
    /// Version of the layout of the pins.
    public let abi: Int
}

/// What the program counted for a slot since the group was made, UDP and TCP together.
public struct SlotCounters: Hashable, Sendable {
    /// The member was the first choice and took the packet.
    public var selected: UInt64 = 0
    /// The member stood in for one that was gone.
    public var fallback: UInt64 = 0
    /// The member was the first choice and was gone.
    public var missed: UInt64 = 0

    /// What the member was given.
    public var received: UInt64 { selected + fallback }
}

/// A socket that is in a slot now.
public struct Member: Hashable, Sendable {
    /// The transport of the socket.
    public enum Transport: String, Hashable, Sendable { case udp, tcp }

    public let slot: Int
    public let transport: Transport
    /// The kernel's number of the socket (SO_COOKIE).
    public let cookie: UInt64
    /// Since 1970, in nanoseconds; nil when the socket was put there by other means.
    public let joinedNanoseconds: UInt64?
    /// The process that joined, as it knew itself in its own pid namespace; nil when unknown.
    public let pid: Int32?
    /// Its effective uid; nil when unknown.
    public let uid: UInt32?
}

/// A socket in a slot. It leaves the slot when this value and the sequences made from it are gone; the death of
/// the process empties the slot just as well.
public struct Membership: ~Copyable, Sendable {
    let handle: SlotHandle

    init(_ group: GroupHandle, _ socket: SocketHandle, slot: Int) throws(ReusePortError) {
        handle = try SlotHandle(group, socket, slot: slot)
    }

    /// Which slot of the group the socket is in.
    public var slot: Int { handle.slot }

    /// Leaves the slot: its sources go to other members from now on. What is in the socket's queue can still
    /// be read. Until the socket is closed it may get more: datagrams that were on their way, and those for
    /// which the group has no member. ``retire()`` prevents that.
    ///
    /// - Throws: `.timedOut` when another process holds the group's lock; the socket is then still in
    ///   its slot until it is closed.
    public consuming func leave() throws(ReusePortError) { try handle.leave() }

    /// Leaves for good: nothing more comes into the socket's queue, so that it can be read to its end and
    /// the socket closed without the loss of a datagram. UDP only; the socket cannot join again. It waits
    /// some 10 ms for datagrams that are on their way into the queue.
    ///
    /// ``datagrams(batch:maximumBytes:batchesAhead:)`` does this when its task is cancelled. By hand, once no
    /// other sequence reads the socket:
    ///
    /// ```swift
    /// try membership.retire()
    /// for try await datagram in socket.datagrams(untilEmpty: true) { store(datagram) }
    /// ```
    ///
    /// - Throws: as ``leave()``; `.wrongSocket` for a TCP listener.
    public consuming func retire() throws(ReusePortError) { try handle.retire() }
}

/// A socket in a slot. A membership and the sequences that retire it share this object; the slot is left when
/// the last of them goes.
final class SlotHandle: Sendable {
    let slot: Int
    let socket: SocketHandle
    private let group: GroupHandle
    /// Tells the socket that joined from another that has got the same descriptor since.
    private let cookie: UInt64
    private let isHeld = Atomic(true)

    init(_ group: GroupHandle, _ socket: SocketHandle, slot: Int) throws(ReusePortError) {
        let number = UInt32(exactly: slot) ?? .max
        try check(
            unsafe rplb_join(group.native, socket.descriptor, number), "join slot \(slot) of",
            group.subject, RPLB_CALL_JOIN)
        self.group = group
        self.socket = socket
        self.slot = slot
        cookie = socket.cookie
    }

    deinit { try? leave() }

    func leave() throws(ReusePortError) {
        guard isTaken() else { return }
        let result = unsafe rplb_leave(group.native, socket.descriptor)
        // The socket has been taken out of the slot by other means, which is what was asked for.
        guard result != -ENOENT else { return }
        try check(result, "leave slot \(slot) of", group.subject, RPLB_CALL_LEAVE)
    }

    func retire() throws(ReusePortError) {
        guard isTaken() else { return }
        try check(
            unsafe rplb_retire(group.native, socket.descriptor), "retire from slot \(slot) of",
            group.subject, RPLB_CALL_LEAVE)
    }

    /// Whether to leave the slot, which happens once. The owner of the socket may have closed it and so
    /// emptied the slot.
    private func isTaken() -> Bool {
        isHeld.exchange(false, ordering: .acquiringAndReleasing) && socket.cookie == cookie
    }
}
