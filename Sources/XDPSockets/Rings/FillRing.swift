// SPDX-License-Identifier: Apache-2.0

public import CLibXDP

/// The ring that gives the kernel frames for receiving. The worker writes, the kernel reads.
///
/// Single producer (Documentation/networking/af_xdp.rst): one worker owns it.
@safe
public struct FillRing: ~Copyable, @unchecked Sendable {
    // SAFETY: initialised, and its pointers lead to the mapped ring for as long as the socket that this
    // belongs to; freed in deinit, when the socket is closed.
    @usableFromInline let ring: UnsafeMutablePointer<xsk_ring_prod>
    @usableFromInline let place: FramePlace

    /// - Parameters:
    ///   - owned: freed by the ring.
    ///   - socket: the number of the socket among those of the memory.
    package init(owning owned: UnsafeMutablePointer<xsk_ring_prod>, socket: UInt8) {
        unsafe ring = owned
        place = .receiving(socket)
    }

    deinit { unsafe ring.deallocate() }

    /// The number of entries, a power of two.
    public var capacity: Int { unsafe Int(ring.pointee.size) }

    /// Entries that the kernel has not read yet.
    public var waiting: Int {
        @_noLocks @_noAllocation @inlinable
        get { unsafe Int(clibxdp_in_prod(ring)) }
    }

    /// Whether the kernel stops reading until it is woken (`XDPSocket.wakeReceiver`); always false without
    /// `usesWakeups`.
    public var needsWakeup: Bool {
        @_noLocks @_noAllocation @inlinable
        get { unsafe xsk_ring_prod__needs_wakeup(ring) != 0 }
    }

    /// Lends free frames to the kernel: as many as are free, fit and are wanted.
    ///
    /// - Returns: the number of frames.
    @_noLocks @_noAllocation @inlinable @discardableResult
    public mutating func refill(from store: inout FrameStore, most: UInt32 = .max) -> UInt32 {
        let wanted = UInt32(truncatingIfNeeded: min(store.free, Int(most)))
        let range = reserve(upTo: wanted)
        var count: UInt32 = 0
        while count < range.count, let address = store.lend(to: place) {
            set(address, at: range[count])
            count &+= 1
        }
        submit(count)
        return count
    }

    // MARK: One by one

    /// Reserves entries, which the kernel does not see yet. All must be written and submitted.
    @_noLocks @_noAllocation @inlinable
    package mutating func reserve(upTo most: UInt32) -> RingRange {
        let count = unsafe min(most, xsk_prod_nb_free(ring, most))
        var first: UInt32 = 0
        guard count > 0, unsafe xsk_ring_prod__reserve(ring, count, &first) > 0 else {
            return RingRange(first: 0, count: 0)
        }
        return RingRange(first: first, count: count)
    }

    /// - Parameter number: the number of an entry from `reserve`.
    @_noLocks @_noAllocation @inlinable
    package mutating func set(_ address: UInt64, at number: UInt32) {
        unsafe xsk_ring_prod__fill_addr(ring, number).pointee = address
    }

    /// Publishes the next reserved entries to the kernel.
    @_noLocks @_noAllocation @inlinable
    package mutating func submit(_ count: UInt32) { unsafe xsk_ring_prod__submit(ring, count) }
}
