// SPDX-License-Identifier: Apache-2.0

/// The number of messages in the next receive call.
///
/// Small datagrams that arrive one by one are joined into super-packets per receiver, so a larger batch sends fewer
/// messages. The window doubles while calls come back full, and is halved when half of it would have been enough. A
/// call never waits for the window to fill, so its size does not delay a datagram.
struct BatchWindow: Equatable {
    /// The maximum size, unless the window starts above that.
    static let greatest = 512
    /// A full call with more bytes than this halves the window: super-packets of 64 KiB push each other out of the
    /// cache between receipt and sending.
    static let bytesThatShrink: UInt64 = 512 << 10
    /// A full call with fewer bytes than this doubles it.
    static let bytesThatGrow: UInt64 = 128 << 10

    /// The size for a worker that has received nothing yet.
    let start: Int
    /// The maximum size.
    let capacity: Int
    private(set) var size: Int

    /// - Parameter start: `settings.batch_size`, 1...1024.
    init(start: Int) {
        self.start = start
        capacity = max(start, Self.greatest)
        size = start
    }

    /// Adjusts the window to the result of a call.
    ///
    /// - Parameters:
    ///   - received: messages, 1...`size`.
    ///   - bytes: their payload.
    @_noLocks @_noAllocation
    mutating func adapt(to received: Int, bytes: UInt64) {
        if received == size {
            if bytes > Self.bytesThatShrink {
                size = max(1, size / 2)
            } else if bytes < Self.bytesThatGrow {
                size = min(size &* 2, capacity)
            }
        } else if received <= size / 2 {
            // Below the start size the number of bytes decides.
            size = max(min(size, start), size / 2)
        }
    }
}
