// SPDX-License-Identifier: Apache-2.0

internal import Glibc

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
