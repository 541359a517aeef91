// SPDX-License-Identifier: Apache-2.0

/// What a slot table is made from. Listeners of one origin have one table, in whatever modes they are.
public struct TableOrigin: Hashable, Sendable {
    let balance: Balance
    let downstreams: [Downstream]
    let capacity: Int

    init(_ balance: Balance, _ downstreams: [Downstream], capacity: Int) {
        self.balance = balance
        self.downstreams = downstreams
        self.capacity = capacity
    }

    /// A thousand receivers are hashed in no time: those at either end tell most sets apart.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(balance)
        hasher.combine(capacity)
        hasher.combine(downstreams.count)
        hasher.combine(downstreams.first)
        hasher.combine(downstreams.last)
    }

    /// The table, built now: some milliseconds for a thousand downstreams and a hash for a key.
    public var table: SlotTable { balance.slotTable(for: downstreams, capacity: capacity) }
}

/// A table at hand. It follows from what the listener is, so it makes no difference between two of them.
struct BuiltTable: Hashable, Sendable {
    var table: SlotTable?

    static func == (one: BuiltTable, other: BuiltTable) -> Bool { true }

    func hash(into hasher: inout Hasher) {}
}
