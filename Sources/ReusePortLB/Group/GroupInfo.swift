// SPDX-License-Identifier: Apache-2.0

internal import CReusePortLB
internal import Glibc
internal import Synchronization

/// The settings of a group.
public struct GroupInfo: Hashable, Sendable {
    /// The intended number of members.
    public let count: Int
    public let key: ReusePortGroup.Key
    public let seed: UInt64
    /// What the members are bound to; nil before the first has joined.
    public let address: Endpoint?
    /// Version of the layout of the pins.
    public let abi: Int
    /// The highest count that it can have.
    public let capacity: Int
    /// How many flows it remembers; 0: none.
    public let flows: Int
    /// Whether a classic program chooses (``GroupOptions/allowsFallback``).
    public let isFallback: Bool
}

/// The counters of a slot since the group was created, UDP and TCP together.
public struct SlotCounters: Hashable, Sendable {
    /// Packets that the member got as first choice.
    public var selected: UInt64 = 0
    /// Packets that the member got as fallback for a missing member.
    public var fallback: UInt64 = 0
    /// Packets whose first choice was this member while it was missing.
    public var missed: UInt64 = 0

    /// All packets that the member got.
    public var received: UInt64 { selected + fallback }
}

/// A socket in a slot.
public struct Member: Hashable, Sendable {
    /// The transport of the socket.
    public enum Transport: String, Hashable, Sendable { case udp, tcp }

    public let slot: Int
    public let transport: Transport
    /// The kernel's number of the socket (SO_COOKIE).
    public let cookie: UInt64
    /// Whether another socket has replaced it, and it has not left yet.
    public let isPrevious: Bool
    /// 1 for the first socket of the slot, one more for each later one; nil when it was put there by other means.
    public let generation: UInt64?
    /// Nanoseconds since 1970; nil when the socket was put there by other means.
    public let joinedNanoseconds: UInt64?
    /// The pid of the process that joined, in its own pid namespace; nil when unknown.
    public let pid: Int32?
    /// Its effective uid; nil when unknown.
    public let uid: UInt32?
}

/// The slot of a source, and the member that gets its packets now.
public struct Placement: Hashable, Sendable {
    public let slot: Int
    /// The slot's member, or its fallback; nil when the group has no member, so that the kernel chooses.
    public let member: Member?

    /// Whether the slot's own member is missing.
    public var isFallback: Bool { member.map { $0.slot != slot } ?? false }
}

/// A socket in a slot. It leaves the slot when this value and the sequences made from it are gone, or when the process
/// ends.
public struct Membership: ~Copyable, Sendable {
    let handle: SlotHandle

    init(
        _ group: GroupHandle, _ socket: SocketHandle, slot: Int, replacing: Bool
    ) throws(ReusePortError) {
        handle = try SlotHandle(group, socket, slot: slot, replacing: replacing)
    }

    /// The slot of the socket.
    public var slot: Int { handle.slot }

    /// Leaves the slot: its sources go to other members from now on. The socket's queue can still be read. Until the
    /// socket is closed it may get more datagrams: those on their way, and those for which the group has no member.
    /// ``retire()`` prevents that.
    ///
    /// - Throws: `.timedOut` when another process holds the group's lock; the socket is then still in
    ///   its slot until it is closed.
    public borrowing func leave() throws(ReusePortError) { try handle.leave() }

    /// Leaves the slot and stops the socket from receiving, so that its queue can be read to the end and the socket
    /// closed without losing a datagram. UDP only; the socket cannot join again. The call waits some 10 ms for
    /// datagrams on their way into the queue.
    ///
    /// ``datagrams(batch:maximumBytes:batchesAhead:)`` does this when its task is cancelled, and ``drain(batch:maximumBytes:)``
    /// at once.
    ///
    /// - Throws: as ``leave()``; `.wrongSocket` for a TCP listener.
    public borrowing func retire() throws(ReusePortError) { try handle.retire() }

    /// Whether another live socket has replaced this one in its slot.
    ///
    /// - Throws: `.notFound` when the socket is in no slot.
    public borrowing func isReplaced() throws(ReusePortError) -> Bool { try handle.isReplaced() }

    /// As ``retire()``, but only while another live socket has replaced this one. Call it some time after
    /// ``isReplaced()``, so that this member keeps the slot if the other process fails at its start.
    ///
    /// ``datagrams(batch:maximumBytes:batchesAhead:)`` does this by itself, half a second after a replacement.
    ///
    /// - Returns: whether it has retired; if not, it still has its slot.
    /// - Throws: as ``retire()``.
    public borrowing func retireIfReplaced() throws(ReusePortError) -> Bool {
        try handle.retireIfReplaced()
    }
}

/// A socket in a slot, shared by a membership and the sequences that retire it; the last of them leaves the slot.
final class SlotHandle: Sendable {
    let slot: Int
    let socket: SocketHandle
    private let group: GroupHandle
    /// Distinguishes the socket that joined from a later one with the same descriptor.
    private let cookie: UInt64
    private let isHeld = Atomic(true)

    init(
        _ group: GroupHandle, _ socket: SocketHandle, slot: Int, replacing: Bool
    ) throws(ReusePortError) {
        let number = UInt32(exactly: slot) ?? .max
        let result =
            replacing
            ? unsafe rplb_replace(group.native, socket.descriptor, number)
            : unsafe rplb_join(group.native, socket.descriptor, number)
        try check(
            result, replacing ? "replace the member of slot \(slot) of" : "join slot \(slot) of",
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
        // The socket has already left the slot by other means.
        guard result != -ENOENT else { return }
        try check(result, "leave slot \(slot) of", group.subject, RPLB_CALL_LEAVE)
    }

    func retire() throws(ReusePortError) {
        guard isTaken() else { return }
        try check(
            unsafe rplb_retire(group.native, socket.descriptor), "retire from slot \(slot) of",
            group.subject, RPLB_CALL_LEAVE)
    }

    func isReplaced() throws(ReusePortError) -> Bool {
        guard isHeld.load(ordering: .acquiring) else { return false }
        let result = unsafe rplb_is_replaced(group.native, socket.descriptor)
        guard result < 0 else { return result > 0 }
        try check(result, "look at slot \(slot) of", group.subject, RPLB_CALL_LEAVE)
        return false
    }

    func retireIfReplaced() throws(ReusePortError) -> Bool {
        guard isTaken() else { return true }
        let result = unsafe rplb_retire_replaced(group.native, socket.descriptor)
        // The slot is still held, also after an error.
        if result != 0 { isHeld.store(true, ordering: .releasing) }
        guard result != -EAGAIN else { return false }
        try check(result, "retire from slot \(slot) of", group.subject, RPLB_CALL_LEAVE)
        return true
    }

    /// Whether the slot must still be left. Only the first call may return true; the socket's owner may have closed the
    /// socket, which empties the slot.
    private func isTaken() -> Bool {
        isHeld.exchange(false, ordering: .acquiringAndReleasing) && socket.cookie == cookie
    }
}
