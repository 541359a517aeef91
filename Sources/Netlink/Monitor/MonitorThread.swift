// SPDX-License-Identifier: Apache-2.0

internal import CNet

/// A kernel thread that reads events and must not occupy one of Swift's concurrency pool.
struct MonitorThread: ~Copyable, Sendable {
    private let handle: UInt

    /// - Throws: `NetlinkError` EAGAIN when the system's limit of threads is reached.
    init(name: String, _ body: @escaping @Sendable () -> Void) throws(NetlinkError) {
        let box = unsafe Unmanaged.passRetained(Body(body))
        var handle: UInt = 0
        // SAFETY: the box is retained above; the thread takes that reference, or we do on failure.
        let result = unsafe cnet_thread_start(
            &handle, 256 << 10, name,
            { unsafe Unmanaged<Body>.fromOpaque($0!).takeRetainedValue().run() }, box.toOpaque())
        if result < 0 {
            unsafe box.release()
            throw NetlinkError(
                operation: "start", subject: "the thread \(name)", errno: -result,
                remedy: "raise the limit of threads (ulimit -u)")
        }
        self.handle = handle
    }

    /// Waits for it to end.
    consuming func join() { _ = cnet_thread_join(handle) }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
