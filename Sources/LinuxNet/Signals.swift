// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// SIGINT and SIGTERM as events to wait for, in programs without an event loop.
public enum TerminationSignal: String, Sendable {
    case interrupt = "SIGINT"
    case terminate = "SIGTERM"

    /// Blocks both signals; call it on the main thread before other threads are started. An arriving signal stays
    /// pending until `wait` takes it.
    public static func block() {
        var set = wanted
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for the next one, on a thread that has both blocked, as every `Thread` has (sigwait(3)).
    public static func wait() -> TerminationSignal {
        var set = wanted
        var number: Int32 = 0
        while unsafe sigwait(&set, &number) != 0 {}
        return number == SIGINT ? .interrupt : .terminate
    }

    /// The exit code that a shell shows for a process ended by this signal: 128 plus its number.
    public var exitCode: Int32 { 128 + (self == .interrupt ? SIGINT : SIGTERM) }

    private static var wanted: sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGINT)
        unsafe sigaddset(&set, SIGTERM)
        return set
    }
}

/// Ignores SIGHUP until the process can handle it.
public struct HangUp {
    private var previous = sigaction()

    /// Ignores SIGHUP until another handler is set. A daemon reads its configuration after that anyway.
    public static func ignored() -> HangUp {
        var result = HangUp()
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = SIG_IGN
        // SAFETY: the kernel reads the one structure and fills in the other before the call returns.
        _ = unsafe sigaction(SIGHUP, &action, &result.previous)
        return result
    }

    /// Restores the previous action, such as to end the process.
    public func restore() {
        var previous = previous
        // SAFETY: the kernel reads the structure before the call returns.
        _ = unsafe sigaction(SIGHUP, &previous, nil)
    }
}
