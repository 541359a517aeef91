// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
package import FanoutCore

extension ListenerCounters {
    package mutating func add(_ row: CounterRow) {
        packetsReceived += row[LB_COUNT_PACKETS_RECEIVED]
        bytesReceived += row[LB_COUNT_BYTES_RECEIVED]
        packetsForwarded += row[LB_COUNT_PACKETS_FORWARDED]
        bytesForwarded += row[LB_COUNT_BYTES_FORWARDED]
        receiveCalls += row[LB_COUNT_RECEIVE_CALLS]
        sendCalls += row[LB_COUNT_SEND_CALLS]
        drops.merge(row.drops, uniquingKeysWith: +)
    }
}

extension ListenerCounters {
    /// Adds what another group counted; its downstreams are left to the caller.
    package mutating func add(_ other: ListenerCounters) {
        packetsReceived += other.packetsReceived
        bytesReceived += other.bytesReceived
        packetsForwarded += other.packetsForwarded
        bytesForwarded += other.bytesForwarded
        receiveCalls += other.receiveCalls
        sendCalls += other.sendCalls
        kernelDrops += other.kernelDrops
        drops.merge(other.drops, uniquingKeysWith: +)
    }
}

extension DownstreamCounters {
    package mutating func add(_ row: CounterRow) {
        packetsForwarded += row[LB_COUNT_PACKETS_FORWARDED]
        bytesForwarded += row[LB_COUNT_BYTES_FORWARDED]
        refusals += row[LB_COUNT_REFUSALS]
        drops.merge(row.drops.filter(\.key.isDownstreams), uniquingKeysWith: +)
    }
}

extension ReceiverSums {
    package init(_ row: CounterRow) {
        self.init()
        packetsForwarded = row[LB_COUNT_PACKETS_FORWARDED]
        bytesForwarded = row[LB_COUNT_BYTES_FORWARDED]
        refusals = row[LB_COUNT_REFUSALS]
        // Reasons that never came up are left out: a thousand receivers may leave at once.
        for reason in DropReason.allCases where reason.isDownstreams {
            let count = row[lb_counter(LB_COUNT_DROPS.rawValue + UInt32(reason.index))]
            if count > 0 { drops[reason] = count }
        }
    }
}
