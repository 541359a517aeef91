// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// The process's standard streams. Each text is one write(2), so that lines of several threads do not mix.
public enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Call it once, before anything else is opened. Opens missing standard streams, so that no socket gets their
    /// numbers and receives the log. Turns SIGPIPE into an error, so that a log without a reader does not kill the
    /// process.
    public static func prepare() {
        for number in Int32(0)...2 where fcntl(number, F_GETFD) < 0 {
            // The lowest free number is this one, because those below are taken.
            let null = unsafe open("/dev/null", number == 0 ? O_RDONLY : O_WRONLY)
            if null > number { _ = close(null) }
        }
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Writes all of `text`. A log (standard error) that is not read must not block the process: text that it does not
    /// accept within a second is lost, and later text is lost at once, until it accepts some again.
    ///
    /// - Returns: whether all of it was written.
    @discardableResult
    public func write(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while rest.count > 0 {
                var piece = rest.count
                if self == .error {
                    guard Self.errorTakesMore() else { return false }
                    // A writable pipe accepts this much without blocking (pipe(7)).
                    piece = min(piece, Int(PIPE_BUF))
                }
                let count = unsafe Glibc.write(rawValue, rest.baseAddress, piece)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            return true
        }
    }

    /// Whether the last line was lost because it was not read.
    private static let isStalled = Atomic(false)

    private static func errorTakesMore() -> Bool {
        var wanted = pollfd(fd: error.rawValue, events: Int16(POLLOUT), revents: 0)
        let patience: Int32 = isStalled.load(ordering: .relaxed) ? 0 : 1000
        let isReady = unsafe poll(&wanted, 1, patience) != 0
        isStalled.store(!isReady, ordering: .relaxed)
        return isReady
    }

    /// Whether the reader of the pipe or terminal is gone (poll(2): POLLERR, POLLHUP); false for a file.
    public var isAbandoned: Bool {
        var state = pollfd(fd: rawValue, events: 0, revents: 0)
        return unsafe poll(&state, 1, 0) == 1
    }

    /// Whether it is a terminal.
    public var isTerminal: Bool { isatty(rawValue) == 1 }
}
