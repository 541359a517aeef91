// SPDX-License-Identifier: Apache-2.0

public import CLibXDP

/// The ring of packets to send. The worker writes, the kernel reads.
///
/// Packets are appended one by one and published together; the kernel sends them when it is told to
/// (`XDPSocket.wakeTransmitter`).
@safe
public struct TransmitRing: ~Copyable, @unchecked Sendable {
    // SAFETY: as FillRing.ring.
    @usableFromInline let ring: UnsafeMutablePointer<xsk_ring_prod>
    @usableFromInline let place: FramePlace
    /// Appended and not published yet.
    @usableFromInline var pending: UInt32 = 0

    /// As `FillRing.init`.
    package init(owning owned: UnsafeMutablePointer<xsk_ring_prod>, socket: UInt8) {
        unsafe ring = owned
        place = .transmitting(socket)
    }

    deinit { unsafe ring.deallocate() }

    /// Packets that were appended and not published yet.
    public var unpublished: Int { Int(pending) }

    /// The number of entries, a power of two.
    public var capacity: Int { unsafe Int(ring.pointee.size) }

    /// Packets that the kernel has not read yet, including unpublished ones.
    public var waiting: Int {
        @_noLocks @_noAllocation @inlinable
        get { unsafe Int(clibxdp_in_prod(ring)) }
    }

    /// Whether the kernel stops reading until it is woken; always true where it copies.
    public var needsWakeup: Bool {
        @_noLocks @_noAllocation @inlinable
        get { unsafe xsk_ring_prod__needs_wakeup(ring) != 0 }
    }

    /// The result of appending a packet.
    @frozen
    public enum Appended: Sendable {
        /// It leaves with the next `publish`; the kernel owns its frame.
        case appended
        /// The ring is full. The worker keeps the frame.
        case full
        /// The packet is empty, crosses the end of its frame, or the worker does not own the frame. The kernel would
        /// drop it and never return the frame. The frame stays where it is.
        case invalid
    }

    @_noLocks @_noAllocation @inlinable
    public mutating func append(_ packet: Packet, of store: inout FrameStore) -> Appended {
        let offset = packet.address & ~store.mask
        guard packet.bytes > 0, offset &+ UInt64(packet.bytes) <= UInt64(store.frameBytes) else {
            return .invalid
        }
        guard unsafe xsk_prod_nb_free(ring, 1) > 0 else { return .full }
        guard store.accounting.move(packet.address, from: .held, to: place) else { return .invalid }
        var number: UInt32 = 0
        _ = unsafe xsk_ring_prod__reserve(ring, 1, &number)
        set(packet, at: number)
        pending &+= 1
        return .appended
    }

    /// Publishes all appended packets to the kernel.
    ///
    /// - Returns: the number of packets.
    @_noLocks @_noAllocation @inlinable @discardableResult
    public mutating func publish() -> UInt32 {
        let count = pending
        guard count > 0 else { return 0 }
        unsafe xsk_ring_prod__submit(ring, count)
        pending = 0
        return count
    }

    @_noLocks @_noAllocation @inlinable
    package mutating func set(_ packet: Packet, at number: UInt32) {
        unsafe xsk_ring_prod__tx_desc(ring, number).pointee = xdp_desc(
            addr: packet.address, len: packet.bytes, options: 0)
    }
}
