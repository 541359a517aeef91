// SPDX-License-Identifier: Apache-2.0

/// What was sent to one receiver since it joined its listener.
public struct DownstreamCounters: Equatable, Sendable {
    public var name: String
    public var endpoint: Endpoint
    public var weight: UInt16
    /// Whether it has a share of new traffic now.
    public var isReady: Bool
    /// Whether it is a backup that is not needed now.
    public var isOnStandby: Bool
    /// Datagrams handed to the kernel for it.
    public var packetsForwarded: UInt64 = 0
    /// UDP payload bytes of the forwarded datagrams.
    public var bytesForwarded: UInt64 = 0
    /// Datagrams for it that were not sent.
    public var drops: [DropReason: UInt64] = [:]
    /// ICMP errors in response to forwarded datagrams: port unreachable (RFC 1122 section 4.1.3.1), or a firewall
    /// rejects them. Not part of the accounting, since these datagrams count as forwarded. A minimum: the kernel
    /// may report one error for a whole batch.
    public var refusals: UInt64 = 0
    /// Datagrams that it sent back to a one-way listener.
    public var repliesDropped: UInt64 = 0

    public init(_ downstream: Downstream) {
        name = downstream.name
        endpoint = downstream.endpoint
        weight = downstream.weight
        isReady = downstream.isReady
        isOnStandby = downstream.isOnStandby
    }
}

/// What receivers sent to clients through a listener.
public struct ReplyCounters: Equatable, Sendable {
    public var packetsReceived: UInt64 = 0
    public var bytesReceived: UInt64 = 0
    public var packetsForwarded: UInt64 = 0
    public var bytesForwarded: UInt64 = 0
    public var drops: [DropReason: UInt64] = [:]

    public init() {}

    public var packetsDropped: UInt64 { drops.values.reduce(0, +) }

    /// Whether the counters add up, as for a listener.
    public var isBalanced: Bool { packetsReceived == packetsForwarded + packetsDropped }
}

/// What one listener did since it was added; kept when its sockets change.
public struct ListenerCounters: Equatable, Sendable {
    public var listener: String
    public var mode: ForwardingMode
    public var packetsReceived: UInt64 = 0
    /// UDP payload bytes of the received datagrams.
    public var bytesReceived: UInt64 = 0
    public var packetsForwarded: UInt64 = 0
    public var bytesForwarded: UInt64 = 0
    public var drops: [DropReason: UInt64] = [:]
    /// Datagrams that the kernel dropped before they could be received: the socket's buffer was full or a checksum
    /// wrong (`SO_MEMINFO`). Not part of `packetsReceived`.
    public var kernelDrops: UInt64 = 0
    /// Datagrams that receivers sent back to a one-way listener and that the kernel dropped. Not part of
    /// `packetsReceived`. Nil if replies do not reach this process: kernel modes, `preserve_source`.
    public var repliesDropped: UInt64?
    /// Receive calls that returned at least one datagram.
    public var receiveCalls: UInt64 = 0
    /// Send calls.
    public var sendCalls: UInt64 = 0
    public var workers: Int = 0
    public var downstreams: [DownstreamCounters] = []
    /// What was sent to receivers that have left the listener. Together with `downstreams` it adds up to the
    /// listener's own counters.
    public var departed = ReceiverSums()
    /// The other direction, in modes that carry it: packets from receivers to clients. Accounted separately.
    public var replies: ReplyCounters?

    public init(listener: String, mode: ForwardingMode) {
        self.listener = listener
        self.mode = mode
    }

    public var packetsDropped: UInt64 { drops.values.reduce(0, +) }

    /// Whether the counters add up, as they do for every listener at rest.
    public var isBalanced: Bool { packetsReceived == packetsForwarded + packetsDropped }
}

/// What a plane counted at one receive queue of an interface, over all listeners.
public struct QueueCounters: Equatable, Sendable {
    public var interface: String
    public var queue: UInt32
    /// Polls that found the receive ring empty.
    public var receiveRingEmpty: UInt64 = 0
    /// Times that frames were left over because the fill ring was full.
    public var fillRingFull: UInt64 = 0
    /// Times that the fill ring had room but every frame was in use, so that packets were lost.
    public var framesExhausted: UInt64 = 0
    /// Packets that the kernel program redirected here and that are no datagram for a listener.
    public var parseErrors: UInt64 = 0
    /// Packets sent through a kernel socket, because no transmit ring led to their receiver.
    public var kernelSends: UInt64 = 0
    /// What the kernel counted at the queue's sockets.
    public var kernel: [KernelEvent: UInt64] = [:]

    public init(interface: String, queue: UInt32) {
        self.interface = interface
        self.queue = queue
    }

    /// The counters of `struct xdp_statistics` (linux/if_xdp.h). The raw value is the metric label `event`.
    public enum KernelEvent: String, CaseIterable, Hashable, Sendable {
        /// Packets that were redirected here and lost: longer than a frame, or from another queue.
        case receiveDropped = "rx_dropped"
        /// Packets lost because the receive ring was full.
        case receiveRingFull = "rx_ring_full"
        /// Packets lost because no frame was available.
        case fillRingEmpty = "rx_fill_ring_empty"
        case receiveInvalid = "rx_invalid"
        case transmitInvalid = "tx_invalid"
        /// Times that the transmit ring had nothing to send.
        case transmitRingEmpty = "tx_ring_empty"
    }
}

/// What was sent to one or several receivers: the sums of `DownstreamCounters`.
public struct ReceiverSums: CounterSum {
    public var packetsForwarded: UInt64 = 0
    /// UDP payload bytes of the forwarded datagrams.
    public var bytesForwarded: UInt64 = 0
    public var drops: [DropReason: UInt64] = [:]
    public var refusals: UInt64 = 0
    public var repliesDropped: UInt64 = 0

    public init() {}

    public init(_ counters: DownstreamCounters) {
        packetsForwarded = counters.packetsForwarded
        bytesForwarded = counters.bytesForwarded
        drops = counters.drops
        refusals = counters.refusals
        repliesDropped = counters.repliesDropped
    }

    public var packetsDropped: UInt64 { drops.values.reduce(0, +) }

    public mutating func add(_ other: ReceiverSums) {
        packetsForwarded &+= other.packetsForwarded
        bytesForwarded &+= other.bytesForwarded
        drops.merge(other.drops, uniquingKeysWith: &+)
        refusals &+= other.refusals
        repliesDropped &+= other.repliesDropped
    }
}

extension DownstreamCounters {
    /// Adds counts of the receivers from elsewhere.
    public mutating func add(_ sums: ReceiverSums) {
        packetsForwarded &+= sums.packetsForwarded
        bytesForwarded &+= sums.bytesForwarded
        drops.merge(sums.drops, uniquingKeysWith: &+)
        refusals &+= sums.refusals
        repliesDropped &+= sums.repliesDropped
    }
}
