// SPDX-License-Identifier: Apache-2.0

/// The receiver of each slot: a datagram with flow key `k` goes to downstream `slots[k mod slots.count]`.
public struct SlotTable: Equatable, Sendable {
    /// Indices into the listener's downstreams. Empty when no downstream is ready.
    public let slots: [UInt16]

    public init(slots: [UInt16]) { self.slots = slots }

    public static let empty = SlotTable(slots: [])

    /// The index of the receiver of `key`; nil if none is ready.
    public func owner(of key: UInt32) -> Int? {
        slots.isEmpty ? nil : Int(slots[Int(key % UInt32(slots.count))])
    }
}

extension [Downstream] {
    /// The positions of the ready receivers, ordered by endpoint. Tables are built in this order, so hosts that
    /// list the same receivers in another order build the same table.
    var readyPositions: [Int] {
        indices.filter { self[$0].isReady }.sorted { self[$0].endpoint < self[$1].endpoint }
    }
}

/// The input of a slot table. Listeners with equal input share one table, whatever their modes.
public struct TableOrigin: Hashable, Sendable {
    let balance: Balance
    let downstreams: [Downstream]
    let capacity: Int

    init(_ balance: Balance, _ downstreams: [Downstream], capacity: Int) {
        self.balance = balance
        self.downstreams = downstreams
        self.capacity = capacity
    }

    /// Cheap for a thousand receivers: the first and the last distinguish most sets.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(balance)
        hasher.combine(capacity)
        hasher.combine(downstreams.count)
        hasher.combine(downstreams.first)
        hasher.combine(downstreams.last)
    }

    /// Builds the table: takes milliseconds for a thousand receivers and a hash-based key.
    public var table: SlotTable { balance.slotTable(for: downstreams, capacity: capacity) }
}

/// A table that has been built. It is derived from the listener, so it does not count in comparisons.
struct BuiltTable: Hashable, Sendable {
    var table: SlotTable?

    static func == (one: BuiltTable, other: BuiltTable) -> Bool { true }

    func hash(into hasher: inout Hasher) {}
}
