// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Wakes a thread that waits in poll(2), by a pair of sockets.
final class WakeLine: Sendable {
    let waiting: Int32
    private let ringing: Int32

    init() throws(ReusePortError) {
        var pair: (Int32, Int32) = (-1, -1)
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        // SAFETY: a pair of Int32 is laid out as int[2].
        let result = unsafe withUnsafeMutablePointer(to: &pair) { pointer in
            unsafe pointer.withMemoryRebound(to: Int32.self, capacity: 2) {
                unsafe socketpair(AF_UNIX, type, 0, $0)
            }
        }
        guard result == 0 else {
            throw ReusePortError("make", "a pair of sockets", errno: errno)
        }
        (waiting, ringing) = pair
    }

    deinit {
        _ = close(waiting)
        _ = close(ringing)
    }

    /// Wakes the thread, now or at its next wait. A full line already rings.
    func ring() {
        var byte: UInt8 = 1
        _ = unsafe send(ringing, &byte, 1, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
    }

    /// Waits until the line rings, or until `descriptor` can be read; below 0 there is none.
    ///
    /// - Parameter milliseconds: waits no longer; -1 for any time.
    /// - Returns: whether the descriptor is shut down for reading, which poll(2) reports again and again.
    func wait(or descriptor: Int32, milliseconds: Int32 = -1) -> Bool {
        let shutDown: Int16 = 0x2000  // POLLRDHUP, which glibc hides without _GNU_SOURCE
        var wanted = [
            pollfd(fd: waiting, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN) | shutDown, revents: 0),
        ]
        // An interrupted wait ends early; the caller checks again.
        guard unsafe poll(&wanted, 2, milliseconds) > 0 else { return false }
        if wanted[0].revents != 0 {
            var rings: UInt64 = 0
            _ = unsafe recv(waiting, &rings, 8, Int32(MSG_DONTWAIT))
        }
        return wanted[1].revents & shutDown != 0
    }
}
