// SPDX-License-Identifier: Apache-2.0

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
