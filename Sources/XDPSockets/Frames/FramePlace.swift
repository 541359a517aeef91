// SPDX-License-Identifier: Apache-2.0

/// Who holds a frame, as a byte. A socket is named by its number among those that share the memory.
@frozen
public struct FramePlace: Equatable, Sendable {
    @usableFromInline let code: UInt8

    @_noLocks @_noAllocation @inlinable
    init(code: UInt8) { self.code = code }

    /// Nobody; it waits in the store.
    public static var free: FramePlace {
        @_noLocks @_noAllocation @inlinable
        get { FramePlace(code: 0) }
    }
    /// The worker, between receiving and sending or dropping.
    public static var held: FramePlace {
        @_noLocks @_noAllocation @inlinable
        get { FramePlace(code: 1) }
    }

    /// The kernel, to receive into: from the fill ring until it comes out of the receive ring.
    public static func receiving(_ socket: UInt8) -> FramePlace { FramePlace(code: 2 + 2 * socket) }

    /// The kernel, to send: from the transmit ring until it comes out of the completion ring.
    public static func transmitting(_ socket: UInt8) -> FramePlace {
        FramePlace(code: 3 + 2 * socket)
    }

    /// Sockets that can share one memory.
    static let socketsMax = 64
}
