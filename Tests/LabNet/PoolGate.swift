// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import LinuxNet
import Synchronization

/// Keeps the threads of Swift's task pool out of labs.
///
/// When no thread is idle, the pool makes one from the thread that enqueues a task. The new thread inherits that
/// thread's namespace and privileges for good, so a later test would run in a foreign network. Therefore another
/// thread, which is not a lab's, passes on the tasks that a lab's thread enqueues.
enum PoolGate {
    private typealias Original = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

    private struct Waiting: @unchecked Sendable {
        let job: UnownedJob
        let enqueue: Original
    }

    private static let waiting = Mutex<[Waiting]>([])
    private static let wake = DispatchSemaphore(value: 0)
    private static let mark: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// Active from the first call on, which must come from a thread outside of all labs.
    static let stands: Bool = {
        _ = home
        // Timers have a thread of their own, which also makes threads.
        DispatchQueue.global().asyncAfter(deadline: .now()) {}
        guard let symbol = dlsym(nil, "swift_task_enqueueGlobal_hook"),
            (try? Thread(name: "pool-gate", body: { relay() })) != nil
        else { return false }
        symbol.assumingMemoryBound(to: Optional<Hook>.self).pointee = { job, original in
            guard pthread_getspecific(mark) != nil || isAway else { return original(job) }
            waiting.withLock { $0.append(Waiting(job: job, enqueue: original)) }
            wake.signal()
        }
        return true
    }()

    /// The network of the process, by inode number.
    private static let home = network

    private static var network: ino_t {
        var found = stat()
        return stat("/proc/thread-self/ns/net", &found) == 0 ? found.st_ino : 0
    }

    /// Whether the calling thread was made by a lab's thread, and is in the network of that thread.
    private static var isAway: Bool { network != home }

    /// Marks the calling thread as a lab's.
    static func markThread() { pthread_setspecific(mark, UnsafeRawPointer(bitPattern: 1)) }

    private static func relay() {
        while true {
            wake.wait()
            let next = waiting.withLock { $0.removeFirst() }
            next.enqueue(next.job)
        }
    }
}
