// SPDX-License-Identifier: Apache-2.0

/// Items by deadline, the earliest first: a binary heap. Insertion and removal are O(log n).
struct DeadlineQueue<Item> {
    private var heap: [(time: Int64, item: Item)] = []

    var isEmpty: Bool { heap.isEmpty }

    /// The earliest time, in the caller's unit; nil if the queue is empty.
    var earliest: Int64? { heap.first?.time }

    mutating func put(_ item: Item, at time: Int64) {
        var index = heap.count
        heap.append((time, item))
        while index > 0 {
            let parent = (index - 1) / 2
            guard heap[index].time < heap[parent].time else { return }
            heap.swapAt(index, parent)
            index = parent
        }
    }

    /// Removes and returns the earliest item, unless it is due after `now`.
    mutating func take(until now: Int64) -> Item? {
        guard let first = heap.first, first.time <= now else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return first.item
    }

    /// Removes the first items while they are `void`.
    mutating func drop(while void: (Item) -> Bool) {
        while let first = heap.first, void(first.item) { _ = take(until: first.time) }
    }

    private mutating func sink() {
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < heap.count && heap[child].time < heap[least].time {
                least = child
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
