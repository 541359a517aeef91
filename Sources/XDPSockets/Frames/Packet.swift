// SPDX-License-Identifier: Apache-2.0

/// Where a packet lies in a `Umem`: an entry of the rings of packets (`struct xdp_desc`,
/// linux/if_xdp.h).
@frozen
public struct Packet: Equatable, Sendable {
    /// The place of its first byte, counted from the start of the memory. Where a frame begins is this
    /// rounded down to the size of frames: the kernel leaves headroom before a packet that it received.
    public var address: UInt64
    /// From the Ethernet header on.
    public var bytes: UInt32

    @_noLocks @_noAllocation @inlinable
    public init(address: UInt64, bytes: UInt32) {
        self.address = address
        self.bytes = bytes
    }
}
