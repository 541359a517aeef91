// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc
internal import LinuxNet
internal import Synchronization

/// What the plane has a worker do between two batches. The worker alone touches its sockets and frames,
/// so a change of them is a letter; looking whether there is one costs the worker a load.
final class WorkerMailbox: Sendable {
    typealias Letter = @Sendable (inout AFXDPWorker) -> Void

    /// Readable while there is mail; what a worker that sleeps waits for.
    let event: Int32
    private let letters = Mutex<[(letter: Letter, done: Latch)]>([])
    private let hasLetters = Atomic(false)

    /// - Throws: `SystemError` when the process has no descriptor left.
    init() throws(SystemError) {
        event = cnet_event()
        if event < 0 { throw SystemError("eventfd", code: -event) }
    }

    deinit { close(event) }

    /// Has the worker do it, and waits until it is done: a batch at most, and what the letter takes.
    func ask<Value: Sendable>(
        _ letter: @escaping @Sendable (inout AFXDPWorker) -> Value
    ) -> Value {
        let (done, answer) = (Latch(), Answer<Value>())
        letters.withLock { $0.append(({ worker in answer.put(letter(&worker)) }, done)) }
        hasLetters.store(true, ordering: .releasing)
        cnet_event_raise(event)
        done.wait()
        return answer.value
    }

    private final class Answer<Value: Sendable>: Sendable {
        private let kept = Mutex<Value?>(nil)
        func put(_ value: Value) { kept.withLock { $0 = value } }
        /// Once it was put.
        var value: Value { kept.withLock { $0! } }
    }

    // MARK: The worker's side

    @_noLocks @_noAllocation
    func isEmpty() -> Bool { !hasLetters.load(ordering: .acquiring) }

    func answer(_ worker: inout AFXDPWorker) {
        cnet_event_clear(event)
        hasLetters.store(false, ordering: .releasing)
        var taken: [(letter: Letter, done: Latch)] = []
        letters.withLock { swap(&$0, &taken) }
        for (letter, done) in taken {
            letter(&worker)
            done.countDown()
        }
    }
}
