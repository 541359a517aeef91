// SPDX-License-Identifier: Apache-2.0

internal import CReusePortLB
internal import Glibc
internal import Synchronization

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

    /// Whether the slot is to be left, which happens once. The owner of the socket may have closed it and so
    /// emptied the slot.
    private func isTaken() -> Bool {
        isHeld.exchange(false, ordering: .acquiringAndReleasing) && socket.cookie == cookie
    }
}
