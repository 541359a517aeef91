// SPDX-License-Identifier: Apache-2.0

/// A weighted round robin: the earliest due index comes next, on a tie the lower one.
///
/// All are due at the start, so the first n steps contain each of n indices, however small its weight. After that
/// no index is more than one step ahead of its share. A small weight lags by less than one step; a large one can
/// lag by the sum of those leads.
struct WeightedSchedule {
    private struct Entry {
        /// When the index is due, in 1/65536 of the period of the largest weight.
        var due: UInt64
        let period: UInt64
        let index: Int

        func precedes(_ other: Entry) -> Bool {
            due == other.due ? index < other.index : due < other.due
        }
    }

    /// A binary heap: the entry at 0 is due first. Initially in the order of the indices.
    private var heap: [Entry]
    /// Whether all weights are equal. Then the order is that of the indices and needs no heap, which halves the
    /// time for a large table.
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

    /// The next index. O(log n), or O(1) if all weights are equal.
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

    /// Moves the entry at 0 down: a child that precedes it moves up.
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
