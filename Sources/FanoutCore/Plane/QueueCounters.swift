// SPDX-License-Identifier: Apache-2.0

/// What a plane counted at one receive queue of an interface, whichever listeners the packets were for.
public struct QueueCounters: Equatable, Sendable {
    public var interface: String
    public var queue: UInt32
    /// Looks at the receive ring that found nothing.
    public var receiveRingEmpty: UInt64 = 0
    /// Times that frames were left over because the fill ring had no room for them.
    public var fillRingFull: UInt64 = 0
    /// Times that the fill ring had room and every frame was in use: what came in then was lost.
    public var framesExhausted: UInt64 = 0
    /// Packets that the kernel program steered here and that are no datagram for a listener.
    public var parseErrors: UInt64 = 0
    /// Packets that left by a socket of the kernel's, since no transmit ring led to their receiver.
    public var kernelSends: UInt64 = 0
    /// What the kernel counted at the queue's sockets.
    public var kernel: [KernelEvent: UInt64] = [:]

    public init(interface: String, queue: UInt32) {
        self.interface = interface
        self.queue = queue
    }

    /// Of `struct xdp_statistics` (linux/if_xdp.h). The raw value is the metric label `event`.
    public enum KernelEvent: String, CaseIterable, Hashable, Sendable {
        /// Packets that were steered here and lost: longer than a frame, or of another queue.
        case receiveDropped = "rx_dropped"
        /// Packets lost because the receive ring was full.
        case receiveRingFull = "rx_ring_full"
        /// Packets that there was no frame for.
        case fillRingEmpty = "rx_fill_ring_empty"
        case receiveInvalid = "rx_invalid"
        case transmitInvalid = "tx_invalid"
        /// Times that the transmit ring had nothing to send.
        case transmitRingEmpty = "tx_ring_empty"
    }
}
