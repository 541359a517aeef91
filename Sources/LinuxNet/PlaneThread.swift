// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanoutCore
internal import Glibc
internal import Synchronization

/// The thread on which a plane runs.
///
/// A change blocks: until the kernel has finished packets with removed objects, for workers, or until a socket is
/// closed before another one opens. It must not block Swift's shared threads, of which there may be two: the other
/// planes would wait too. One thread that opens and closes all sockets of `af_xdp` also keeps sockets with shared
/// memory in order.
public final class PlaneThread: SerialExecutor {
    /// State shared by the thread and its owner; the thread may outlive the owner by its current job.
    private final class Queue: Sendable {
        private let jobs = Mutex<[UnownedJob]>([])
        private let wake = DispatchSemaphore(value: 0)
        private let isEnding = Atomic(false)

        func add(_ job: UnownedJob) {
            jobs.withLock { $0.append(job) }
            wake.signal()
        }

        func end() {
            isEnding.store(true, ordering: .releasing)
            wake.signal()
        }

        func next() -> UnownedJob? {
            while true {
                wake.wait()
                if let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { return job }
                if isEnding.load(ordering: .acquiring) { return nil }
            }
        }
    }

    private let queue = Queue()

    /// Starts the thread at once: later the limit of threads may have been reached.
    ///
    /// - Parameter name: what `top -H` shows.
    public init(name: String) {
        // SAFETY: a job keeps the actor, and that the executor, which this names.
        let (queue, executor) = unsafe (queue, UnownedSerialExecutor(ordinary: self))
        do {
            try Thread(name: name, stackBytes: 1 << 20) {
                while let job = queue.next() { unsafe job.runSynchronously(on: executor) }
            }.detach()  // Its owner may be freed while it still works.
        } catch {
            preconditionFailure("no thread for the plane: \(error)")
        }
    }

    deinit { queue.end() }

    public func enqueue(_ job: consuming ExecutorJob) { queue.add(UnownedJob(job)) }

    // SAFETY: the actor that runs on it keeps it.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }
}
