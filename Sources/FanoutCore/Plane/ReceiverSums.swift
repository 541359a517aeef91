// SPDX-License-Identifier: Apache-2.0

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
