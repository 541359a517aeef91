// SPDX-License-Identifier: Apache-2.0

package import CDatapath
package import FanoutCore

/// A row of counters (lb/counters.h), summed over the CPUs.
package struct Counts: CounterSum {
    private var words = [UInt64](repeating: 0, count: Int(LB_COUNTERS.rawValue))

    package init() {}

    package init(_ row: [UInt64]) { add(row) }

    package mutating func add(_ row: [UInt64]) {
        for (index, value) in row.prefix(words.count).enumerated() { words[index] &+= value }
    }

    package mutating func add(_ other: Counts) { add(other.words) }

    package subscript(counter: lb_counter) -> UInt64 { words[Int(counter.rawValue)] }

    /// Reasons with a count of 0 are left out.
    package var drops: [DropReason: UInt64] {
        var result: [DropReason: UInt64] = [:]
        for reason in DropReason.allCases {
            let count = words[Int(LB_COUNT_DROPS.rawValue) + reason.index]
            if count > 0 { result[reason] = count }
        }
        return result
    }
}

extension ListenerCounters {
    package init(_ listener: Listener, _ counts: Counts) {
        self.init(listener: listener.name, mode: listener.mode)
        packetsReceived = counts[LB_COUNT_PACKETS_RECEIVED]
        bytesReceived = counts[LB_COUNT_BYTES_RECEIVED]
        packetsForwarded = counts[LB_COUNT_PACKETS_FORWARDED]
        bytesForwarded = counts[LB_COUNT_BYTES_FORWARDED]
        drops = counts.drops
    }
}

extension ReceiverSums {
    package init(_ counts: Counts) {
        self.init()
        packetsForwarded = counts[LB_COUNT_PACKETS_FORWARDED]
        bytesForwarded = counts[LB_COUNT_BYTES_FORWARDED]
        drops = counts.drops
    }
}

extension DownstreamCounters {
    package init(_ downstream: Downstream, _ counts: Counts) {
        self.init(downstream)
        packetsForwarded = counts[LB_COUNT_PACKETS_FORWARDED]
        bytesForwarded = counts[LB_COUNT_BYTES_FORWARDED]
        drops = counts.drops
    }
}
