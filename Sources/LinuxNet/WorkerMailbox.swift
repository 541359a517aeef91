// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The commands that a plane sends to a worker, which runs them between two batches. Only the worker accesses its
/// sockets, tables and memory, so changing them is a command. The check for commands costs the worker one load.
package final class WorkerMailbox<Worker: ~Copyable>: Sendable {
    package typealias Command = @Sendable (inout Worker) -> Void

    private let commands = Mutex<[(command: Command, done: Latch)]>([])
    private let hasCommands = Atomic(false)

    package init() {}

    /// - Parameter done: counted down when the command has run. The caller must wake the worker.
    func post(_ command: @escaping Command, _ done: Latch) {
        commands.withLock { $0.append((command, done)) }
        hasCommands.store(true, ordering: .releasing)
    }

    // MARK: The worker's side

    package var isEmpty: Bool { !hasCommands.load(ordering: .acquiring) }

    /// Runs the pending commands.
    package func run(on worker: inout Worker) {
        hasCommands.store(false, ordering: .releasing)
        var taken: [(command: Command, done: Latch)] = []
        commands.withLock { swap(&$0, &taken) }
        for (command, done) in taken {
            command(&worker)
            done.countDown()
        }
    }
}

/// Counts the begins and ends of a worker's batches: odd during a batch.
@safe package struct BatchCount: @unchecked Sendable {
    // SAFETY: one initialised cell, alive until `free`, which the owner calls after the worker has ended.
    private let cell: UnsafeMutablePointer<Atomic<UInt64>>

    package init() {
        unsafe cell = .allocate(capacity: 1)
        unsafe cell.initialize(to: Atomic(0))
    }

    package func free() {
        unsafe cell.deinitialize(count: 1)
        unsafe cell.deallocate()
    }

    /// Called at the beginning and at the end of a batch.
    @_noLocks @_noAllocation
    package func step() {
        let next = unsafe cell.pointee.load(ordering: .relaxed) &+ 1
        unsafe cell.pointee.store(next, ordering: .releasing)
    }

    package var value: UInt64 { unsafe cell.pointee.load(ordering: .acquiring) }
}
