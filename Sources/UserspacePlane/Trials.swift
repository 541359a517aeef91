// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Receivers of a listener that are out of service and are to get one datagram all the same, to see whether they refuse
/// it. The plane sets them, and whichever worker has a batch next takes one.
@safe struct TrialFlags: @unchecked Sendable {
    /// The greatest `settings.max_downstream`.
    static let capacity = 1024
    private static let wordCount = capacity / 64

    // SAFETY: wordCount + 1 initialised words, alive until `free`, which their owner calls after the workers have ended.
    // The last word is 0 when no bit is set, so that a worker reads one word a batch.
    private let words: UnsafeMutablePointer<Atomic<UInt64>>

    init() {
        unsafe words = .allocate(capacity: Self.wordCount + 1)
        for index in 0...Self.wordCount { unsafe (words + index).initialize(to: Atomic(0)) }
    }

    func free() {
        unsafe words.deinitialize(count: Self.wordCount + 1)
        unsafe words.deallocate()
    }

    /// - Parameter index: the receiver's place in the tables of all workers.
    func set(_ index: Int) {
        guard index < Self.capacity else { return }
        unsafe words[index / 64].bitwiseOr(1 << UInt64(index % 64), ordering: .releasing)
        unsafe words[Self.wordCount].store(1, ordering: .releasing)
    }

    /// To be called before the tables are exchanged: a worker that takes an index afterwards finds none, and one that
    /// has taken one before has read its table before that.
    func clear() {
        for index in 0...Self.wordCount {
            unsafe words[index].store(0, ordering: .sequentiallyConsistent)
        }
    }

    /// A receiver that was set, which is set no more; -1 when there is none.
    @_noLocks @_noAllocation
    func take() -> Int32 {
        guard unsafe words[Self.wordCount].load(ordering: .acquiring) != 0 else { return -1 }
        for index in 0..<Self.wordCount {
            let word = unsafe words[index].load(ordering: .acquiring)
            guard word != 0 else { continue }
            let bit = UInt64(1) << UInt64(truncatingIfNeeded: word.trailingZeroBitCount)
            let old = unsafe words[index].bitwiseAnd(~bit, ordering: .acquiringAndReleasing)
                .oldValue
            // Another worker was faster.
            guard old & bit != 0 else { return -1 }
            return Int32(truncatingIfNeeded: index &* 64 &+ word.trailingZeroBitCount)
        }
        // One that is set at this moment waits for the next time.
        unsafe words[Self.wordCount].store(0, ordering: .releasing)
        return -1
    }
}

/// Keeps the flags as long as a worker may use them.
final class Trials: Sendable {
    let flags = TrialFlags()

    deinit { flags.free() }
}
