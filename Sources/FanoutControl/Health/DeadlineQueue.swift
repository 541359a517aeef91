// SPDX-License-Identifier: Apache-2.0

/// What is to happen when, the earliest first: a binary heap. Putting in and taking out are O(log n).
struct DeadlineQueue<Item> {
    private var heap: [(time: Int64, item: Item)] = []

    var isEmpty: Bool { heap.isEmpty }

    /// The earliest time, in the unit of the caller; nil when the queue is empty.
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

    /// Takes the earliest item out, unless that lies after `now`.
    mutating func take(until now: Int64) -> Item? {
        guard let first = heap.first, first.time <= now else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return first.item
    }

    /// Takes out what lies first for as long as it is `void`.
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
