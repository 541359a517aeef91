// SPDX-License-Identifier: Apache-2.0

/// Who owns each slot: a datagram with flow key `k` goes to downstream `slots[k mod slots.count]`.
public struct SlotTable: Equatable, Sendable {
    /// Indices into the listener's downstreams. Empty when no downstream is ready.
    public let slots: [UInt16]

    public init(slots: [UInt16]) { self.slots = slots }

    public static let empty = SlotTable(slots: [])

    /// The downstream of `key`; nil if none is ready.
    public func owner(of key: UInt32) -> Int? {
        slots.isEmpty ? nil : Int(slots[Int(key % UInt32(slots.count))])
    }
}

extension [Downstream] {
    /// The positions of those that take new traffic, in the order of their endpoints: builders work
    /// in this order, so that two hosts whose configs list the same receivers differently agree.
    var readyPositions: [Int] {
        indices.filter { self[$0].isReady }.sorted { self[$0].endpoint < self[$1].endpoint }
    }
}

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
