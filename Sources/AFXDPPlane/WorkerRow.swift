// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet

/// What one worker counts of one listener or of one of its receivers, and where it is in the listener's
/// turn; both last from table to table.
@safe final class WorkerRow: Sendable {
    let counters = CounterRow()
    // SAFETY: one number, written by the worker alone; freed in deinit, after the last table that names it.
    nonisolated(unsafe) let turn: UnsafeMutablePointer<UInt32>

    /// - Parameter turn: where to begin.
    init(turn start: UInt32 = 0) {
        unsafe turn = .allocate(capacity: 1)
        unsafe turn.initialize(to: start)
    }

    deinit {
        counters.free()
        unsafe turn.deallocate()
    }
}
