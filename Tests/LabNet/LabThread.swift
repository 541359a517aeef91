// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import LinuxNet
import Synchronization

/// A thread that tasks can run on, for what the kernel keeps per thread: the network namespace and capabilities.
/// Sockets and threads made there inherit both.
public final class LabThread: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let wake = DispatchSemaphore(value: 0)
    private let ending = Atomic(false)
    private let thread = Mutex<Thread?>(nil)

    /// - Parameter setup: prepares the thread; it runs there first.
    public init(setup: @escaping @Sendable () throws -> Void) async throws {
        guard PoolGate.stands else { throw SystemError("guard the task pool", code: ENOSYS) }
        thread.withLock {
            $0 = try? Thread(name: "lab", stackBytes: 4 << 20) { [unowned self] in work() }
        }
        do {
            try await run { try setup() }
        } catch {
            end()
            throw error
        }
    }

    deinit { end() }

    /// Runs `body`, and every default actor that it calls, on this thread.
    public func run<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withTaskExecutorPreference(self) { try await body() }
    }

    /// Ends the thread after its remaining work.
    public func end() {
        guard let thread = thread.withLock({ $0.take() }) else { return }
        ending.store(true, ordering: .releasing)
        wake.signal()
        thread.join()
    }

    /// Runs `body` on a new thread that ends with it.
    public static func run<Value: Sendable>(
        setup: @escaping @Sendable () throws -> Void,
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        let thread = try await LabThread(setup: setup)
        let outcome: Result<Value, any Error>
        do {
            outcome = try await .success(thread.run(body))
        } catch {
            outcome = .failure(error)
        }
        thread.end()
        return try outcome.get()
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        wake.signal()
    }

    private func work() {
        PoolGate.markThread()
        while true {
            wake.wait()
            if let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
                job.runSynchronously(on: asUnownedTaskExecutor())
            } else if ending.load(ordering: .acquiring) {
                return
            }
        }
    }
}

/// A function of the C library that its headers hide without _GNU_SOURCE.
func hidden<Function>(_ name: String, as type: Function.Type) -> Function {
    unsafeBitCast(dlsym(nil, name), to: type)
}
