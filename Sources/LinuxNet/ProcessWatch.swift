// SPDX-License-Identifier: Apache-2.0

internal import CNet
internal import Glibc

/// Reports when another process has ended, also before it is waited for (pidfd_open(2)).
public final class ProcessWatch: Sendable {
    private let descriptor: Int32

    /// - Parameter pid: nil results when there is no such process, or no descriptor left.
    public init?(_ pid: Int32) {
        descriptor = cnet_pidfd_open(pid)
        if descriptor < 0 { return nil }
    }

    deinit { _ = close(descriptor) }

    /// Blocks until the process has ended or the time is over.
    public func hasEnded(within time: Duration) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // SAFETY: one entry, which outlives the call. A signal may end the wait early; the caller may repeat it.
        return unsafe poll(&entry, 1, Int32(time / .milliseconds(1))) == 1
    }
}
