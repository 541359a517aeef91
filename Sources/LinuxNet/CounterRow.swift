// SPDX-License-Identifier: Apache-2.0

package import CDatapath
package import FanoutCore
package import Synchronization

/// A row of counters in shared memory: one worker writes it, any thread reads it.
///
/// With a single writer an addition is a relaxed load and a relaxed store: it needs no locked instruction, and readers
/// see no torn cell.
@safe package struct CounterRow: @unchecked Sendable {
    // SAFETY: LB_COUNTERS initialised cells, alive until `free`, which the owner calls after the last worker
    // that writes them has ended or lost the table that names them.
    @usableFromInline let cells: UnsafeMutablePointer<Atomic<UInt64>>

    private static let cellCount = Int(LB_COUNTERS.rawValue)

    package init() {
        unsafe cells = .allocate(capacity: Self.cellCount)
        for index in 0..<Self.cellCount {
            unsafe (cells + index).initialize(to: Atomic(0))
        }
    }

    package func free() {
        unsafe cells.deinitialize(count: Self.cellCount)
        unsafe cells.deallocate()
    }

    @_noLocks @_noAllocation @inlinable @inline(__always)
    package func add(_ amount: UInt64, at counter: lb_counter) {
        let index = Int(counter.rawValue)
        let sum = unsafe cells[index].load(ordering: .relaxed) &+ amount
        unsafe cells[index].store(sum, ordering: .relaxed)
    }

    /// The same for a drop.
    @_noLocks @_noAllocation @inlinable @inline(__always)
    package func add(_ amount: UInt64, droppedFor reason: lb_drop_reason) {
        add(amount, at: lb_counter(LB_COUNT_DROPS.rawValue &+ reason.rawValue))
    }

    package subscript(counter: lb_counter) -> UInt64 {
        unsafe cells[Int(counter.rawValue)].load(ordering: .relaxed)
    }

    /// The drops, by reason; every reason has an entry.
    package var drops: [DropReason: UInt64] {
        Dictionary(
            uniqueKeysWithValues: DropReason.allCases.map { reason in
                (reason, self[lb_counter(LB_COUNT_DROPS.rawValue + UInt32(reason.index))])
            })
    }
}

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
    /// Adds the counters of another group, without its receivers.
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
        // Omit reasons without drops: a thousand receivers may leave at once.
        for reason in DropReason.allCases where reason.isDownstreams {
            let count = row[lb_counter(LB_COUNT_DROPS.rawValue + UInt32(reason.index))]
            if count > 0 { drops[reason] = count }
        }
    }
}
