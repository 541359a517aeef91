// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import FanoutCore

/// What a listener counted in rows that are no more, receiver by receiver.
struct Tally: Sendable {
    var listener = Counts()
    var receivers: [Endpoint: Counts] = [:]
}

/// A row of counters (lb/counters.h), added up over the CPUs.
struct Counts: Equatable, Sendable {
    private var words = [UInt64](repeating: 0, count: Int(LB_COUNTERS.rawValue))

    init() {}

    init(_ row: [UInt64]) { add(row) }

    mutating func add(_ row: [UInt64]) {
        for (index, value) in row.prefix(words.count).enumerated() { words[index] &+= value }
    }

    mutating func add(_ other: Counts) { add(other.words) }

    subscript(counter: lb_counter) -> UInt64 { words[Int(counter.rawValue)] }

    /// Reasons that never came up are left out.
    var drops: [DropReason: UInt64] {
        var result: [DropReason: UInt64] = [:]
        for reason in DropReason.allCases {
            let count = words[Int(LB_COUNT_DROPS.rawValue) + reason.index]
            if count > 0 { result[reason] = count }
        }
        return result
    }
}

extension ListenerCounters {
    init(_ listener: Listener, _ counts: Counts) {
        self.init(listener: listener.name, mode: listener.mode)
        packetsReceived = counts[LB_COUNT_PACKETS_RECEIVED]
        bytesReceived = counts[LB_COUNT_BYTES_RECEIVED]
        packetsForwarded = counts[LB_COUNT_PACKETS_FORWARDED]
        bytesForwarded = counts[LB_COUNT_BYTES_FORWARDED]
        drops = counts.drops
    }
}

extension DownstreamCounters {
    init(_ downstream: Downstream, _ counts: Counts) {
        self.init(downstream)
        packetsForwarded = counts[LB_COUNT_PACKETS_FORWARDED]
        bytesForwarded = counts[LB_COUNT_BYTES_FORWARDED]
        drops = counts.drops
    }
}
