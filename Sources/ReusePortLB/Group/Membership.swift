// SPDX-License-Identifier: Apache-2.0

internal import CReusePortLB
internal import Glibc

/// A socket in a slot. It leaves the slot when this value goes; the death of the process empties the
/// slot just as well.
public struct Membership: ~Copyable, Sendable {
    /// Which slot of the group the socket is in.
    public let slot: Int
    private let group: GroupHandle
    private let socket: SocketHandle
    /// What tells the socket that joined from another that got the same descriptor since.
    private let cookie: UInt64
    private var isHeld = true

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

    /// Leaves the slot: its sources meet others from now on. What is in the socket's queue can still be
    /// read.
    ///
    /// - Throws: `.timedOut` when another process holds the group's lock; the socket is then still in
    ///   its slot until it is closed.
    public consuming func leave() throws(ReusePortError) {
        isHeld = false
        try end()
    }

    /// Leaves for good: nothing more comes into the socket's queue, so that it can be read to its end and
    /// the socket closed without the loss of a datagram. UDP only; the socket cannot join again. It waits
    /// some 10 ms for datagrams that are on their way into the queue.
    ///
    /// - Throws: as ``leave()``; `.wrongSocket` for a TCP listener.
    public consuming func retire() throws(ReusePortError) {
        isHeld = false
        guard socket.cookie == cookie else { return }
        try check(
            unsafe rplb_retire(group.native, socket.descriptor), "retire from slot \(slot) of",
            group.subject, RPLB_CALL_LEAVE)
    }

    deinit {
        if isHeld { try? end() }
    }

    private borrowing func end() throws(ReusePortError) {
        // Its owner may have closed the socket, and so emptied the slot; the descriptor may be another
        // socket by now.
        guard socket.cookie == cookie else { return }
        let result = unsafe rplb_leave(group.native, socket.descriptor)
        // Somebody else took it out of the slot, which is what was asked for.
        guard result != -ENOENT else { return }
        try check(result, "leave slot \(slot) of", group.subject, RPLB_CALL_LEAVE)
    }
}
