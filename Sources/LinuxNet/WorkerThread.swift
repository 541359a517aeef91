// SPDX-License-Identifier: Apache-2.0

internal import CNet
package import Logging
internal import Synchronization

/// The loop of a worker. It looks into its mailbox between two batches.
package protocol WorkerLoop: ~Copyable, SendableMetatype {
    /// Whether it is to leave `run` after the batch in hand.
    var isEnding: Bool { get set }

    mutating func run()
}

/// A worker, its thread and its mailbox, as a plane holds them.
@safe package final class WorkerThread<Loop: WorkerLoop & ~Copyable> {
    // SAFETY: initialised in init, freed in deinit, which runs after the thread has ended.
    private let loop: UnsafeMutablePointer<Loop>
    private let mailbox: WorkerMailbox<Loop>
    private var thread: Thread?
    /// Where the thread waits, and touches nothing else: before it is opened, and while it is paused.
    private var gate: Gate?
    /// Opens when a worker that is to pause has come to its gate.
    private var arrival: Latch?

    /// Starts the thread, which waits for `open`. A worker that is never opened ends without having run.
    ///
    /// - Parameters:
    ///   - name: what `top -H` shows.
    ///   - cpu: the CPU to stay on; nil: any.
    ///   - fields: what the log says of the worker.
    /// - Throws: `SystemError` when there is no thread left.
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

    /// Lets the worker run, at first or after a pause.
    package func open() {
        gate?.decide(goOn: true)
        (gate, arrival) = (nil, nil)
    }

    /// Waits until the thread has ended. A worker at its gate ends there; any other must have got a
    /// command to end.
    package func end() {
        gate?.decide(goOn: false)
        thread.take()?.join()
    }

    // MARK: Commands

    /// Has the worker run `command` between two batches, without waiting for that. While the worker waits at its gate
    /// the command runs here.
    ///
    /// - Returns: opens when the command has run; for `wait(for:)`.
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

    /// Waits until a command has run: for a batch at most, and for what the command takes. The worker is woken more
    /// than once, since it may have been about to wait in a system call when it was woken before.
    package func wait(for done: Latch) {
        while !done.isOpen {
            thread?.interrupt()
            done.wait(until: MonotonicClock.now + 1_000_000)
        }
    }

    /// Has the worker run `command` between two batches, and waits until it has.
    package func ask<Value: Sendable>(
        _ command: @escaping @Sendable (inout Loop) -> Value
    ) -> Value {
        let result = Box<Value>()
        wait(for: post { loop in result.value.withLock { $0 = command(&loop) } })
        return result.value.withLock { $0! }
    }

    private final class Box<Value: Sendable>: Sendable { let value = Mutex<Value?>(nil) }

    // MARK: Pauses

    /// Has the worker run `command` and then wait until `open` or `end`; `awaitPause` waits until it does.
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

/// What runs on the thread.
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
