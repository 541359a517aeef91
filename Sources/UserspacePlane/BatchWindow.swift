// SPDX-License-Identifier: Apache-2.0

/// How many messages the next receive call takes.
///
/// Small datagrams that arrive one by one are joined into super-packets per receiver, so the more of them a batch
/// has, the fewer messages it sends. The window doubles while calls come back full, and is halved when half of it
/// would have done. A call never waits for the window to fill, so its size does not delay a datagram.
struct BatchWindow: Equatable {
    /// The most that the window grows to, unless it starts above that.
    static let greatest = 512
    /// A full call with more bytes than this halves the window: super-packets of 64 KiB push each other out of the
    /// cache between receipt and sending.
    static let bytesThatShrink: UInt64 = 512 << 10
    /// A full call with fewer bytes than this doubles it.
    static let bytesThatGrow: UInt64 = 128 << 10

    /// The size of a worker that has received nothing yet.
    let start: Int
    /// The greatest size.
    let capacity: Int
    private(set) var size: Int

    /// - Parameter start: `settings.batch_size`, 1...1024.
    init(start: Int) {
        self.start = start
        capacity = max(start, Self.greatest)
        size = start
    }

    /// Takes into account what a call brought.
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
            // Below the start the number of bytes has the say.
            size = max(min(size, start), size / 2)
        }
    }
}
