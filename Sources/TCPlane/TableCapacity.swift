// SPDX-License-Identifier: Apache-2.0

internal import CDatapath
internal import FanoutCore

/// What the maps of a program have room for. It is fixed when they are made.
struct TableCapacity: Equatable, Sendable {
    /// Receivers and slots of each listener's table.
    var receivers: Int
    var slots: Int
    /// Rows of counters for receivers, of all listeners together.
    var rows: Int
    /// Destinations that listeners serve: address, port and interface.
    var entries: Int
    /// Whether some listener serves every destination, so that the program has to look for it.
    var servesAny: Bool

    /// Enough for the listeners as configured, with room for the receivers and addresses to change.
    init(for listeners: [Listener], entries: Int) {
        let most = listeners.map { max($0.settings.maxDownstream, $0.downstreams.count) }
        receivers = most.max() ?? 1
        slots = MaglevTable.size(capacity: receivers)
        // A change may exchange every receiver, and the rows of the leaving ones are still in use then.
        rows = Self.powerOfTwo(atLeast: max(64, 2 * most.reduce(0, +)))
        self.entries = Self.powerOfTwo(atLeast: max(1024, 2 * entries))
        servesAny = listeners.contains { $0.served == .any }
    }

    /// Whether a program of this capacity can carry what needs `other`.
    func covers(_ other: TableCapacity) -> Bool {
        receivers >= other.receivers && slots >= other.slots && rows >= other.rows
            && entries >= other.entries && (servesAny || !other.servesAny)
    }

    /// Enough for both, so that a capacity once reached is kept.
    func joined(with other: TableCapacity?) -> TableCapacity {
        guard let other else { return self }
        var result = self
        result.receivers = max(receivers, other.receivers)
        result.slots = max(slots, other.slots)
        result.rows = max(rows, other.rows)
        result.entries = max(entries, other.entries)
        return result
    }

    /// Bytes of a table: its head, the receivers and the slots (lb/tables.h).
    var tableBytes: Int {
        MemoryLayout<lb_table>.size + receivers * MemoryLayout<lb_receiver>.size
            + slots * MemoryLayout<UInt16>.size
    }

    private static func powerOfTwo(atLeast wanted: Int) -> Int {
        var size = 1
        while size < wanted { size *= 2 }
        return size
    }
}
