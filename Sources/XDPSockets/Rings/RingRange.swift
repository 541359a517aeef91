// SPDX-License-Identifier: Apache-2.0

/// Entries of a ring that follow each other. Their numbers go on past the end of the ring, which begins
/// again, and past 2^32, where they begin again.
@frozen
public struct RingRange: Equatable, Sendable {
    public let first: UInt32
    public let count: UInt32

    @_noLocks @_noAllocation @inlinable
    public init(first: UInt32, count: UInt32) {
        self.first = first
        self.count = count
    }

    /// The number of the entry at `offset`, which is below `count`.
    public subscript(offset: UInt32) -> UInt32 {
        @_noLocks @_noAllocation @inlinable
        get { first &+ offset }
    }
}
