// SPDX-License-Identifier: Apache-2.0

/// What went to one receiver since it joined its listener.
public struct DownstreamCounters: Equatable, Sendable {
    public var name: String
    public var endpoint: Endpoint
    public var weight: UInt16
    /// Whether it has a share of new traffic now.
    public var isReady: Bool
    /// Datagrams handed to the kernel for it.
    public var packetsForwarded: UInt64 = 0
    /// UDP payload bytes of those.
    public var bytesForwarded: UInt64 = 0
    /// Datagrams meant for it that were not sent.
    public var drops: [DropReason: UInt64] = [:]
    /// ICMP errors that came back: nothing listens there (port unreachable, RFC 1122 section 4.1.3.1), or a firewall
    /// rejects what is sent. They concern datagrams that had been forwarded, so they are no part of the
    /// accounting. Of several answers to one batch the kernel may tell only one, so this is the least number.
    public var refusals: UInt64 = 0
    /// Datagrams that it sent back, to a listener that forwards one way.
    public var repliesDropped: UInt64 = 0

    public init(_ downstream: Downstream) {
        name = downstream.name
        endpoint = downstream.endpoint
        weight = downstream.weight
        isReady = downstream.isReady
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

    /// The ledger, as that of a listener.
    public var isBalanced: Bool { packetsReceived == packetsForwarded + packetsDropped }
}

/// What one listener did since it was added; survives a change of its sockets.
public struct ListenerCounters: Equatable, Sendable {
    public var listener: String
    public var mode: ForwardingMode
    public var packetsReceived: UInt64 = 0
    /// UDP payload bytes of those.
    public var bytesReceived: UInt64 = 0
    public var packetsForwarded: UInt64 = 0
    public var bytesForwarded: UInt64 = 0
    public var drops: [DropReason: UInt64] = [:]
    /// Datagrams that the kernel threw away before they could be received: the socket's buffer was
    /// full or a checksum wrong (`SO_MEMINFO`). Never part of `packetsReceived`.
    public var kernelDrops: UInt64 = 0
    /// Datagrams that receivers sent back and that the kernel dropped, since the listener forwards one way; no part of
    /// `packetsReceived`. Nil where replies do not come to this process: kernel modes, `preserve_source`.
    public var repliesDropped: UInt64?
    /// Receive calls that returned at least one datagram.
    public var receiveCalls: UInt64 = 0
    /// Send calls.
    public var sendCalls: UInt64 = 0
    public var workers: Int = 0
    public var downstreams: [DownstreamCounters] = []
    /// What went to receivers that the listener has no more: together with those of `downstreams` it makes
    /// the listener's own.
    public var departed = ReceiverSums()
    /// The other direction, in modes that carry it: packets of receivers for clients. Its ledger is its
    /// own.
    public var replies: ReplyCounters?

    public init(listener: String, mode: ForwardingMode) {
        self.listener = listener
        self.mode = mode
    }

    public var packetsDropped: UInt64 { drops.values.reduce(0, +) }

    /// The ledger: true of every listener at rest.
    public var isBalanced: Bool { packetsReceived == packetsForwarded + packetsDropped }
}

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

/// What went to receivers, one or several of them: the counts of `DownstreamCounters` without whose they are.
public struct ReceiverSums: CounterSum {
    public var packetsForwarded: UInt64 = 0
    /// UDP payload bytes of those.
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
    /// Adds what the receiver counted elsewhere.
    public mutating func add(_ sums: ReceiverSums) {
        packetsForwarded &+= sums.packetsForwarded
        bytesForwarded &+= sums.bytesForwarded
        drops.merge(sums.drops, uniquingKeysWith: &+)
        refusals &+= sums.refusals
        repliesDropped &+= sums.repliesDropped
    }
}
