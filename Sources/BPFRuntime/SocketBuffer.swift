// SPDX-License-Identifier: Apache-2.0

internal import CLibBPF

/// What the socket buffer of a test run says of its packet (`struct __sk_buff`, as far as the kernel
/// lets it be set: net/bpf/test_run.c). A packet whose Ethernet destination is zeros is for this host
/// when the interface is the loopback.
public struct SocketBuffer: Equatable, Sendable {
    /// The interface that the packet is on; 0 for the loopback. It must exist.
    public var interface: UInt32
    /// The interface by which it came; any number.
    public var ingressInterface: UInt32
    /// Bytes of payload in a segment of a super-packet (`gso_size`); 0 for any other packet.
    public var segmentBytes: UInt32
    /// Segments of a super-packet (`gso_segs`); 0 when nobody has counted them.
    public var segments: UInt32
    /// Whether a NIC has summed up the packet (CHECKSUM_COMPLETE): the run fails when that sum is no
    /// longer the packet's afterwards. Linux 6.11.
    public var isSummed: Bool

    public init(
        interface: UInt32 = 0, ingressInterface: UInt32 = 0, segmentBytes: UInt32 = 0,
        segments: UInt32 = 0, isSummed: Bool = false
    ) {
        self.interface = interface
        self.ingressInterface = ingressInterface
        self.segmentBytes = segmentBytes
        self.segments = segments
        self.isSummed = isSummed
    }

    /// As the kernel reads it.
    var context: __sk_buff {
        var context = unsafe __sk_buff()
        unsafe context.ifindex = interface
        unsafe context.ingress_ifindex = ingressInterface
        unsafe context.gso_size = segmentBytes
        unsafe context.gso_segs = segments
        return unsafe context
    }
}
