// SPDX-License-Identifier: Apache-2.0

public import CLibXDP

/// The ring that returns the frames of sent packets. The kernel writes, the worker reads.
@safe
public struct CompletionRing: ~Copyable, @unchecked Sendable {
    // SAFETY: as FillRing.ring.
    @usableFromInline let ring: UnsafeMutablePointer<xsk_ring_cons>
    @usableFromInline let place: FramePlace

    /// As `FillRing.init`.
    package init(owning owned: UnsafeMutablePointer<xsk_ring_cons>, socket: UInt8) {
        unsafe ring = owned
        place = .transmitting(socket)
    }

    deinit { unsafe ring.deallocate() }

    /// The number of entries, a power of two.
    public var capacity: Int { unsafe Int(ring.pointee.size) }

    /// Entries that were not taken yet.
    public var waiting: Int {
        @_noLocks @_noAllocation @inlinable
        get { unsafe Int(clibxdp_in_cons(ring)) }
    }

    /// Takes frames back into the store.
    ///
    /// - Returns: the number of entries read. A frame that was not lent is not taken back (`FrameStore.violations`).
    @_noLocks @_noAllocation @inlinable @discardableResult
    public mutating func drain(into store: inout FrameStore, most: UInt32 = .max) -> UInt32 {
        let range = peek(upTo: most)
        var offset: UInt32 = 0
        while offset < range.count {
            _ = store.accept(address(at: range[offset]), from: place)
            offset &+= 1
        }
        release(range.count)
        return range.count
    }

    // MARK: One by one

    /// Entries to read, which stay the worker's until they are released.
    @_noLocks @_noAllocation @inlinable
    package mutating func peek(upTo most: UInt32) -> RingRange {
        var first: UInt32 = 0
        let count = unsafe xsk_ring_cons__peek(ring, most, &first)
        return RingRange(first: first, count: count)
    }

    /// - Parameter number: the number of an entry from `peek`.
    @_noLocks @_noAllocation @inlinable
    package func address(at number: UInt32) -> UInt64 {
        unsafe xsk_ring_cons__comp_addr(ring, number).pointee
    }

    /// Releases the oldest peeked entries to the kernel.
    @_noLocks @_noAllocation @inlinable
    package mutating func release(_ count: UInt32) { unsafe xsk_ring_cons__release(ring, count) }
}
