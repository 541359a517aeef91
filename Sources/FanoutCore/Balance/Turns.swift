// SPDX-License-Identifier: Apache-2.0

/// Whose turn it is, in proportion to weights: whoever has waited longest for its weight is next, and
/// the earlier index wins a tie. After n turns everyone has had its share of n, to within one turn.
struct Turns {
    private struct Entry {
        /// When the turn is due, in 1/65536 of the heaviest one's period.
        var due: UInt64
        let period: UInt64
        let index: Int

        func precedes(_ other: Entry) -> Bool { (due, index) < (other.due, other.index) }
    }

    /// A binary heap: the entry at 0 is due first.
    private var heap: [Entry]

    /// - Parameter weights: all above 0, at least one.
    init(weights: [UInt16]) {
        let heaviest = UInt64(weights.max()!)
        heap = weights.enumerated().map { index, weight in
            let period = (heaviest << 16) / UInt64(weight)
            return Entry(due: period, period: period, index: index)
        }
        heap.sort { $0.precedes($1) }
    }

    /// The next index. O(log n).
    mutating func next() -> Int {
        let index = heap[0].index
        heap[0].due += heap[0].period
        sink()
        return index
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].precedes(heap[least]) {
                least = child
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
