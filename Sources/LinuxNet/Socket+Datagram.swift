// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Single datagrams, for code that is not in a hurry; the data planes have their own batches.
extension Socket {
    /// Sends one datagram to the peer that the socket is connected to.
    ///
    /// - Returns: whether the kernel took it. It does not when its buffer is full, and when the peer
    ///   has answered an earlier datagram with ICMP port unreachable.
    public func send(_ payload: [UInt8]) -> Bool {
        unsafe Glibc.send(descriptor, payload, payload.count, Int32(MSG_DONTWAIT))
            == payload.count
    }

    /// Waits for a datagram and reads it into `buffer`, which cuts what is longer.
    ///
    /// - Returns: its length in bytes; 0 also when `wakeReceiver` ended the wait; nil on an error.
    public func receive(into buffer: inout [UInt8]) -> Int? {
        while true {
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            if count >= 0 { return count }
            if errno != EINTR { return nil }
        }
    }
}
