// SPDX-License-Identifier: Apache-2.0

internal import XDPSockets

/// An AF_XDP socket at a fixed place in memory, so that tables can name it. The plane opens and closes it;
/// in between the worker alone uses its rings.
@safe final class SharedSocket: @unchecked Sendable {
    // SAFETY: initialised in init; freed in deinit, after the worker has taken a table that does not name
    // it, or has ended.
    let pointer: UnsafeMutablePointer<XDPSocket>
    let queue: InterfaceQueue
    /// Among the sockets of the memory.
    let number: UInt8

    init(_ socket: consuming XDPSocket) {
        queue = socket.queue
        number = socket.number
        unsafe pointer = .allocate(capacity: 1)
        unsafe pointer.initialize(to: socket)
    }

    deinit {
        unsafe pointer.deinitialize(count: 1)
        unsafe pointer.deallocate()
    }

    /// Of the sockets that are open, what the kernel counted; nil when it does not say.
    var statistics: XDPStatistics? { unsafe try? pointer.pointee.statistics() }

    /// Whether packets wait for the worker, or are in its hands.
    var hasInput: Bool { unsafe pointer.pointee.receive.unread > 0 }

    /// For an XSKMAP.
    var descriptor: Int32 { unsafe pointer.pointee.descriptor }

    var isZeroCopy: Bool { unsafe pointer.pointee.isZeroCopy }
}
