// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// The process's own output: whole pieces of text in one write(2), so that lines of several threads
/// do not run into each other.
public enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// To be called once, before anything else is opened: makes sure that the numbers of the three
    /// standard streams are taken, lest a socket gets one of them and the log is written into it; and
    /// turns SIGPIPE, which would kill a process whose log has no reader any more, into an error.
    public static func prepare() {
        for number in Int32(0)...2 where fcntl(number, F_GETFD) < 0 {
            // The lowest free number is this one, since those below are taken by now.
            let null = unsafe open("/dev/null", number == 0 ? O_RDONLY : O_WRONLY)
            if null > number { _ = close(null) }
        }
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Writes all of `text`. A log (standard error) that is not read must not block the process: what it does
    /// not take within a second is lost, and so is what follows, at
    /// once, until it takes something again.
    ///
    /// - Returns: whether all of it was taken.
    @discardableResult
    public func write(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while rest.count > 0 {
                var piece = rest.count
                if self == .error {
                    guard Self.errorTakesMore() else { return false }
                    // A pipe that takes anything takes this much without blocking (pipe(7)).
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

    /// Whether the last line was lost for want of a reader.
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

    /// Whether a person is likely to be looking.
    public var isTerminal: Bool { isatty(rawValue) == 1 }
}
