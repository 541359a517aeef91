// SPDX-License-Identifier: Apache-2.0

internal import CNet

/// A separate kernel thread, for a loop that blocks in system calls and must not occupy a thread of Swift's concurrency
/// pool. It blocks all signals except those between our threads.
public struct Thread: ~Copyable, Sendable {
    private let handle: UInt

    /// - Parameters:
    ///   - name: what `top -H` shows; cut after 15 bytes.
    ///   - stackBytes: at least 16 KiB; only touched pages use memory.
    /// - Throws: `SystemError` EAGAIN when the system's limit of threads is reached.
    public init(
        name: String, stackBytes: Int = 256 << 10, body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let box = unsafe Unmanaged.passRetained(Body(body))
        var handle: UInt = 0
        let short = String(decoding: name.utf8.prefix(15), as: UTF8.self)
        // SAFETY: the box is retained above; the thread takes that reference, or we do on failure.
        let result = unsafe cnet_thread_start(
            &handle, stackBytes, short,
            { unsafe Unmanaged<Body>.fromOpaque($0!).takeRetainedValue().run() }, box.toOpaque())
        if result < 0 {
            unsafe box.release()
            throw SystemError("pthread_create", code: -result)
        }
        self.handle = handle
    }

    /// Waits for the thread to end.
    public consuming func join() { _ = cnet_thread_join(handle) }

    /// Ends a system call in which it waits, with EINTR. A call that it is about to begin is not ended, so the caller
    /// must repeat this until the thread has reacted.
    public borrowing func interrupt() { cnet_thread_interrupt(handle) }

    /// Detaches it; it cannot be joined then.
    public consuming func detach() { cnet_thread_detach(handle) }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}

/// The CPUs of the process, and pinning of threads (sched_setaffinity(2)).
public enum CPUAffinity {
    /// The numbers of the usable CPUs in ascending order, by taskset and cpusets. Never empty.
    public static var allowed: [Int] {
        var mask = [UInt64](repeating: 0, count: 128)
        let count = unsafe cnet_get_affinity(&mask, UInt32(mask.count))
        guard count > 0 else { return [0] }
        return mask.indices.flatMap { word in
            (0..<64).filter { mask[word] >> UInt64($0) & 1 == 1 }.map { word * 64 + $0 }
        }
    }

    /// Pins the calling thread to `cpu`.
    public static func pinCurrentThread(to cpu: Int) throws(SystemError) {
        try check("sched_setaffinity", cnet_pin_thread(UInt32(cpu)))
    }
}

/// Sleeps, for our own threads; tasks use Task.sleep.
public enum Pause {
    /// - Parameter count: 0...999.
    public static func milliseconds(_ count: Int) { cnet_pause(UInt32(count) * 1000) }
}
