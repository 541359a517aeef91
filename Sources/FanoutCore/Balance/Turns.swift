// SPDX-License-Identifier: Apache-2.0

/// Whose turn it is, in proportion to weights: earliest due first, and the earlier index wins a tie.
///
/// Everyone has a turn at the start, so n turns give each of n at least one, however light. After that
/// nobody is more than one turn ahead of its share; what the light ones are ahead, less than a turn
/// each, is what a heavy one can be behind.
struct Turns {
    private struct Entry {
        /// When the turn is due, in 1/65536 of the heaviest one's period.
        var due: UInt64
        let period: UInt64
        let index: Int

        func precedes(_ other: Entry) -> Bool { (due, index) < (other.due, other.index) }
    }

    /// A binary heap: the entry at 0 is due first. In the beginning that is the order of the indices.
    private var heap: [Entry]

    /// - Parameter weights: all above 0, at least one.
    init(weights: [UInt16]) {
        let heaviest = UInt64(weights.max()!)
        heap = weights.enumerated().map { index, weight in
            let period = (heaviest << 16) / UInt64(weight)
            return Entry(due: 0, period: period, index: index)
        }
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
