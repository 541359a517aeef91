// SPDX-License-Identifier: Apache-2.0

/// Whose turn it is, in proportion to weights: earliest due first, and the earlier index wins a tie.
///
/// Everyone has a turn at the start, so n turns give each of n at least one, however light. After that
/// none is more than one turn ahead of its share. The light ones are less than a turn ahead each; a heavy one
/// can be behind by their sum.
struct WeightedSchedule {
    private struct Entry {
        /// When the turn is due, in 1/65536 of the heaviest one's period.
        var due: UInt64
        let period: UInt64
        let index: Int

        func precedes(_ other: Entry) -> Bool {
            due == other.due ? index < other.index : due < other.due
        }
    }

    /// A binary heap: the entry at 0 is due first. In the beginning that is the order of the indices.
    private var heap: [Entry]
    /// Where all weights are equal the turns go round in the order of the indices, for which no heap is
    /// needed: half the time of a large table.
    private let isEven: Bool
    private var upcoming = 0

    /// - Parameter weights: all above 0, at least one.
    init(weights: [UInt16]) {
        let heaviest = UInt64(weights.max()!)
        isEven = weights.allSatisfy { $0 == weights[0] }
        heap = weights.enumerated().map { index, weight in
            let period = (heaviest << 16) / UInt64(weight)
            return Entry(due: 0, period: period, index: index)
        }
    }

    /// The next index. O(log n), or O(1) where all weights are equal.
    mutating func next() -> Int {
        if isEven {
            defer { upcoming = upcoming + 1 == heap.count ? 0 : upcoming + 1 }
            return upcoming
        }
        let index = heap[0].index
        heap[0].due += heap[0].period
        sink()
        return index
    }

    /// Moves the entry at 0 down to its place: children give way to it as long as one precedes it.
    private mutating func sink() {
        let entry = heap[0]
        var hole = 0
        while 2 * hole + 1 < heap.count {
            let left = 2 * hole + 1
            let right = left + 1
            let child = right < heap.count && heap[right].precedes(heap[left]) ? right : left
            guard heap[child].precedes(entry) else { break }
            heap[hole] = heap[child]
            hole = child
        }
        heap[hole] = entry
    }
}
