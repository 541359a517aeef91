// SPDX-License-Identifier: Apache-2.0

internal import CNet
package import Logging
internal import Synchronization

/// The loop of a worker. It checks its mailbox between two batches.
package protocol WorkerLoop: ~Copyable, SendableMetatype {
    /// Whether `run` must return after the current batch.
    var isEnding: Bool { get set }

    mutating func run()
}

/// A worker, its thread and its mailbox, as a plane holds them.
@safe package final class WorkerThread<Loop: WorkerLoop & ~Copyable> {
    // SAFETY: initialised in init, freed in deinit, which runs after the thread has ended.
    private let loop: UnsafeMutablePointer<Loop>
    private let mailbox: WorkerMailbox<Loop>
    private var thread: Thread?
    /// Where the thread waits before it is opened and while it is paused; it accesses nothing meanwhile.
    private var gate: Gate?
    /// Opens when a pausing worker has reached its gate.
    private var arrival: Latch?

    /// Starts the thread, which waits for `open`. A worker that is never opened ends without running.
    ///
    /// - Parameters:
    ///   - name: what `top -H` shows.
    ///   - cpu: the CPU to pin it to; nil: any.
    ///   - fields: log fields that identify the worker.
    /// - Throws: `SystemError` when no thread can be started.
    package init(
        _ worker: consuming Loop, mailbox: WorkerMailbox<Loop>, name: String, cpu: Int?,
        logger: Logger, fields: Logger.Metadata
    ) throws(SystemError) {
        unsafe loop = .allocate(capacity: 1)
        unsafe loop.initialize(to: worker)
        self.mailbox = mailbox
        let gate = Gate()
        self.gate = gate
        let entry = unsafe Entry(loop: loop, gate: gate, cpu: cpu, logger: logger, fields: fields)
        thread = try Thread(name: name) { entry.run() }
    }

    deinit {
        end()
        unsafe loop.deinitialize(count: 1)
        unsafe loop.deallocate()
    }

    /// Lets the worker run, at the start or after a pause.
    package func open() {
        gate?.decide(goOn: true)
        (gate, arrival) = (nil, nil)
    }

    /// Waits until the thread has ended. A worker at its gate ends there; any other must have got a command to end.
    package func end() {
        gate?.decide(goOn: false)
        thread.take()?.join()
    }

    // MARK: Commands

    /// Lets the worker run `command` between two batches, without waiting for it. While the worker waits at its gate
    /// the command runs on the caller's thread.
    ///
    /// - Returns: a latch that opens when the command has run, for `wait(for:)`.
    package func post(_ command: @escaping WorkerMailbox<Loop>.Command) -> Latch {
        let done = Latch()
        if gate == nil, thread != nil {
            mailbox.post(command, done)
        } else {
            awaitPause()
            unsafe command(&loop.pointee)
            done.countDown()
        }
        return done
    }

    /// Waits until a command has run: at most one batch, plus the command. Wakes the worker repeatedly, because it may
    /// have been about to wait in a system call at an earlier wake-up.
    package func wait(for done: Latch) {
        while !done.isOpen {
            thread?.interrupt()
            done.wait(until: MonotonicClock.now + 1_000_000)
        }
    }

    /// Lets the worker run `command` between two batches, and waits until it has.
    package func ask<Value: Sendable>(
        _ command: @escaping @Sendable (inout Loop) -> Value
    ) -> Value {
        let result = Box<Value>()
        wait(for: post { loop in result.value.withLock { $0 = command(&loop) } })
        return result.value.withLock { $0! }
    }

    private final class Box<Value: Sendable>: Sendable { let value = Mutex<Value?>(nil) }

    // MARK: Pauses

    /// Lets the worker run `command` and then wait for `open` or `end`; `awaitPause` waits until the worker has paused.
    package func pause(after command: @escaping WorkerMailbox<Loop>.Command) {
        guard gate == nil, thread != nil else { return }
        let (gate, arrival) = (Gate(), Latch())
        _ = post { loop in
            command(&loop)
            arrival.countDown()
            if !gate.pass() { loop.isEnding = true }
        }
        (self.gate, self.arrival) = (gate, arrival)
    }

    package func awaitPause() {
        if let arrival { wait(for: arrival) }
    }
}

/// The thread's main function.
@safe private struct Entry<Loop: WorkerLoop & ~Copyable>: @unchecked Sendable {
    // SAFETY: WorkerThread frees it only after it has joined the thread.
    let loop: UnsafeMutablePointer<Loop>
    let gate: Gate
    let cpu: Int?
    let logger: Logger
    let fields: Logger.Metadata

    func run() {
        if let cpu {
            do {
                try CPUAffinity.pinCurrentThread(to: cpu)
            } catch {
                logger.warning(
                    "worker is not pinned", metadata: ["cpu": "\(cpu)", "error": "\(error)"])
            }
        }
        guard gate.pass() else { return }
        logger.debug("entering receive loop", metadata: fields)
        unsafe loop.pointee.run()
    }
}
