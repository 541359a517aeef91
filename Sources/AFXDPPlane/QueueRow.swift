// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What one worker counts of its queue, whoever the packets are for. The worker writes, anybody reads.
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
