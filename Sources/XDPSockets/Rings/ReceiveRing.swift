// SPDX-License-Identifier: Apache-2.0

public import CLibXDP

/// The ring of received packets. The kernel writes, the worker reads.
@safe
public struct ReceiveRing: ~Copyable, @unchecked Sendable {
    // SAFETY: as FillRing.ring.
    @usableFromInline let ring: UnsafeMutablePointer<xsk_ring_cons>
    @usableFromInline let place: FramePlace

    /// As `FillRing.init`.
    package init(owning owned: UnsafeMutablePointer<xsk_ring_cons>, socket: UInt8) {
        unsafe ring = owned
        place = .receiving(socket)
    }

    deinit { unsafe ring.deallocate() }

    /// The number of entries, a power of two.
    public var capacity: Int { unsafe Int(ring.pointee.size) }

    /// Packets that were not taken yet.
    public var waiting: Int {
        @_noLocks @_noAllocation @inlinable
        get { unsafe Int(clibxdp_in_cons(ring)) }
    }

    /// The same for any thread, including entries that the worker has not released yet.
    public var unread: Int { unsafe Int(clibxdp_unread(ring)) }

    /// Takes packets in the order of their arrival. The worker then owns their frames: each goes into a transmit ring
    /// or back into the store.
    ///
    /// - Returns: entries for `packet(at:)`, until `release`.
    @_noLocks @_noAllocation @inlinable
    public mutating func take(upTo most: UInt32, of store: inout FrameStore) -> RingRange {
        let range = peek(upTo: most)
        var offset: UInt32 = 0
        while offset < range.count {
            _ = store.accounting.move(packet(at: range[offset]).address, from: place, to: .held)
            offset &+= 1
        }
        return range
    }

    /// The packet of an entry from `take`.
    @_noLocks @_noAllocation @inlinable
    public func packet(at number: UInt32) -> Packet {
        let entry = unsafe xsk_ring_cons__rx_desc(ring, number).pointee
        return Packet(address: entry.addr, bytes: entry.len)
    }

    /// Returns the entries to the kernel, once their packets have been read.
    @_noLocks @_noAllocation @inlinable
    public mutating func release(_ range: RingRange) { release(range.count) }

    // MARK: One by one

    /// Entries to read, which stay the worker's until they are released.
    @_noLocks @_noAllocation @inlinable
    package mutating func peek(upTo most: UInt32) -> RingRange {
        var first: UInt32 = 0
        let count = unsafe xsk_ring_cons__peek(ring, most, &first)
        return RingRange(first: first, count: count)
    }

    /// Releases the oldest peeked entries to the kernel.
    @_noLocks @_noAllocation @inlinable
    package mutating func release(_ count: UInt32) { unsafe xsk_ring_cons__release(ring, count) }
}

/// Consecutive entries of a ring. Their numbers continue past the size of the ring and wrap at 2^32.
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

/// The position of a packet in a `Umem`: an entry of the rings of packets (`struct xdp_desc`, linux/if_xdp.h).
@frozen
public struct Packet: Equatable, Sendable {
    /// The offset of its first byte in the memory. The start of its frame is this rounded down to the size of frames:
    /// the kernel leaves headroom before a received packet.
    public var address: UInt64
    /// From the Ethernet header on.
    public var bytes: UInt32

    @_noLocks @_noAllocation @inlinable
    public init(address: UInt64, bytes: UInt32) {
        self.address = address
        self.bytes = bytes
    }
}
