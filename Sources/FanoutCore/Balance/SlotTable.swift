// SPDX-License-Identifier: Apache-2.0

/// Who owns each slot: a datagram with flow key `k` goes to downstream `slots[k mod slots.count]`.
public struct SlotTable: Equatable, Sendable {
    /// Indices into the listener's downstreams. Empty when no downstream is ready.
    public let slots: [UInt16]

    public init(slots: [UInt16]) { self.slots = slots }

    public static let empty = SlotTable(slots: [])

    /// The downstream that `key` meets; nil when nobody is ready.
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
