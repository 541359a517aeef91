// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

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

/// What a thread waits for in poll(2) beside its socket.
struct WakePair: ~Copyable, Sendable {
    /// Readable once `wake` was called, and for good.
    let descriptor: Int32
    private let other: Int32

    init() throws(NetlinkError) {
        var pair: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        // SAFETY: the kernel writes two descriptors, the array has room for two.
        guard unsafe socketpair(AF_UNIX, type, 0, &pair) == 0 else {
            throw NetlinkError(
                operation: "open", subject: "a socket pair", errno: Glibc.errno)
        }
        descriptor = pair[0]
        other = pair[1]
    }

    deinit {
        _ = close(descriptor)
        _ = close(other)
    }

    func wake() { _ = shutdown(other, Int32(SHUT_WR)) }
}
