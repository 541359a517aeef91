// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import FanoutCore

extension ListenerCounters {
    mutating func add(_ row: CounterRow) {
        packetsReceived += row[LB_COUNT_PACKETS_RECEIVED]
        bytesReceived += row[LB_COUNT_BYTES_RECEIVED]
        packetsForwarded += row[LB_COUNT_PACKETS_FORWARDED]
        bytesForwarded += row[LB_COUNT_BYTES_FORWARDED]
        receiveCalls += row[LB_COUNT_RECEIVE_CALLS]
        sendCalls += row[LB_COUNT_SEND_CALLS]
        drops.merge(row.drops, uniquingKeysWith: +)
    }
}

extension DownstreamCounters {
    mutating func add(_ row: CounterRow) {
        packetsForwarded += row[LB_COUNT_PACKETS_FORWARDED]
        bytesForwarded += row[LB_COUNT_BYTES_FORWARDED]
        refusals += row[LB_COUNT_REFUSALS]
        drops.merge(row.drops.filter(\.key.isDownstreams), uniquingKeysWith: +)
    }

    mutating func add(_ other: DownstreamCounters) {
        packetsForwarded += other.packetsForwarded
        bytesForwarded += other.bytesForwarded
        refusals += other.refusals
        drops.merge(other.drops, uniquingKeysWith: +)
    }
}
