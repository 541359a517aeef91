// SPDX-License-Identifier: Apache-2.0

internal import CNet

/// The kernel's counters of a socket since it was created (`struct xdp_statistics`, linux/if_xdp.h).
public struct XDPStatistics: Equatable, Sendable {
    /// Redirected packets that were lost: longer than a frame, or for another queue.
    public var receiveDropped: UInt64 = 0
    /// Invalid entries of the fill ring.
    public var receiveInvalid: UInt64 = 0
    /// Invalid entries of the transmit ring; their frames do not come back.
    public var transmitInvalid: UInt64 = 0
    /// Packets lost because the receive ring was full (Linux 5.9, as the next ones).
    public var receiveRingFull: UInt64 = 0
    /// Packets for which the fill ring had no frame.
    public var fillRingEmpty: UInt64 = 0
    /// How often the transmit ring was empty.
    public var transmitRingEmpty: UInt64 = 0

    public init() {}

    public static func + (left: XDPStatistics, right: XDPStatistics) -> XDPStatistics {
        var sum = XDPStatistics()
        sum.receiveDropped = left.receiveDropped + right.receiveDropped
        sum.receiveInvalid = left.receiveInvalid + right.receiveInvalid
        sum.transmitInvalid = left.transmitInvalid + right.transmitInvalid
        sum.receiveRingFull = left.receiveRingFull + right.receiveRingFull
        sum.fillRingEmpty = left.fillRingEmpty + right.fillRingEmpty
        sum.transmitRingEmpty = left.transmitRingEmpty + right.transmitRingEmpty
        return sum
    }
}

extension XDPSocket {
    /// - Throws: `XDPSocketError`; no kernel with AF_XDP has a reason for it.
    public func statistics() throws(XDPSocketError) -> XDPStatistics {
        var read = cnet_xdp_statistics()
        // SAFETY: the kernel fills in the structure.
        let result = unsafe cnet_xdp_statistics(descriptor, &read)
        guard result == 0 else {
            throw XDPSocketError(
                operation: "read statistics of", subject: "\(queue)", errno: -result,
                remedy: "needs Linux 4.18")
        }
        var statistics = XDPStatistics()
        statistics.receiveDropped = read.receive_dropped
        statistics.receiveInvalid = read.receive_invalid
        statistics.transmitInvalid = read.transmit_invalid
        statistics.receiveRingFull = read.receive_ring_full
        statistics.fillRingEmpty = read.fill_ring_empty
        statistics.transmitRingEmpty = read.transmit_ring_empty
        return statistics
    }
}
