// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet
internal import Synchronization

/// One worker's counters for one listener or receiver, and its position in the listener's round robin; both outlive
/// tables.
@safe final class WorkerRow: Sendable {
    let counters = CounterRow()
    // SAFETY: one number, written by the worker alone; freed in deinit, after the last table that names it.
    nonisolated(unsafe) let nextSlot: UnsafeMutablePointer<UInt32>

    /// - Parameter turn: the first position.
    init(nextSlot start: UInt32 = 0) {
        unsafe nextSlot = .allocate(capacity: 1)
        unsafe nextSlot.initialize(to: start)
    }

    deinit {
        counters.free()
        unsafe nextSlot.deallocate()
    }
}

/// One worker's counters of its queue, for all listeners. The worker writes; any thread reads.
@safe struct QueueRow: @unchecked Sendable {
    enum Count: Int, CaseIterable {
        case receiveRingEmpty, fillRingFull, framesExhausted, parseErrors, kernelSends
    }

    // SAFETY: a cell each, alive until `free`, which the owner calls once the worker has ended.
    private let cells: UnsafeMutablePointer<Atomic<UInt64>>

    init() {
        unsafe cells = .allocate(capacity: Count.allCases.count)
        for index in Count.allCases.indices { unsafe (cells + index).initialize(to: Atomic(0)) }
    }

    func free() {
        unsafe cells.deinitialize(count: Count.allCases.count)
        unsafe cells.deallocate()
    }

    /// With a single writer a load and a store make an addition.
    @_noLocks @_noAllocation
    func add(_ amount: UInt64, at count: Count) {
        let index =
            switch count {
            case .receiveRingEmpty: 0
            case .fillRingFull: 1
            case .framesExhausted: 2
            case .parseErrors: 3
            case .kernelSends: 4
            }
        let sum = unsafe cells[index].load(ordering: .relaxed) &+ amount
        unsafe cells[index].store(sum, ordering: .relaxed)
    }

    subscript(count: Count) -> UInt64 {
        unsafe cells[count.rawValue].load(ordering: .relaxed)
    }
}
