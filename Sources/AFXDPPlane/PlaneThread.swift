// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FanoutCore
internal import Glibc
internal import LinuxNet
internal import Synchronization

/// The thread on which a plane does all that it does.
///
/// Opening a socket may have to wait for the one before it to be gone, closing one waits for the kernel, and
/// each change waits for the workers: none of Swift's shared threads should. That one thread opens and
/// closes all sockets also keeps those that share a memory in order.
final class PlaneThread: SerialExecutor {
    /// What the thread and its owner share; the thread outlives the owner by the job in hand.
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
    /// Started with the first job.
    private let isStarted = Mutex(false)

    deinit { queue.end() }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        start()
        queue.add(job)
    }

    // SAFETY: whoever runs on it keeps it.
    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    private func start() {
        isStarted.withLock { started in
            guard !started else { return }
            started = true
            // SAFETY: a job keeps the actor, and that the executor, whose name this is.
            let (queue, name) = unsafe (queue, UnownedSerialExecutor(ordinary: self))
            do {
                _ = try Thread(name: "af_xdp", stackBytes: 1 << 20) {
                    // Nobody joins it: its owner may go while it is at work for it.
                    pthread_detach(pthread_self())
                    while let job = queue.next() { unsafe job.runSynchronously(on: name) }
                }
            } catch {
                preconditionFailure("no thread for the plane: \(error)")
            }
        }
    }
}
