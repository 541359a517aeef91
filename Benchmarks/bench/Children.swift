// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Foundation
internal import Glibc
internal import Synchronization

/// The processes that this program started and has not yet reaped, so that none outlives it after a failure or Ctrl+C.
/// (`setpriv --pdeathsig` covers the case that this program is killed.)
enum Children {
    private struct State {
        var live: Set<pid_t> = []
        var stopping = false
        var signalled = false
    }

    private static let state = Mutex(State())

    /// Starts a child with its output and errors going to the file descriptors given.
    ///
    /// - Parameter arguments: the program, looked up on PATH, and its arguments.
    static func start(_ arguments: [String], output: Int32, errors: Int32) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, errors, 2)

        // A child would inherit that this program ignores the signals that it handles.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        defer { words.forEach { free($0) } }
        words.append(nil)

        // Under the lock, so that a child is either known to the signal handler or not started.
        return try state.withLock { state in
            guard !state.stopping else { throw Trouble("stopping") }
            var pid: pid_t = 0
            let failure = posix_spawnp(&pid, arguments[0], &actions, &attributes, words, environ)
            guard failure == 0 else {
                throw Trouble("start \(arguments[0]): \(String(cString: strerror(failure)))")
            }
            state.live.insert(pid)
            return pid
        }
    }

    /// The wait status of a child that has ended, or nil while it runs.
    static func reap(_ pid: pid_t) -> Int32? {
        var status: Int32 = 0
        guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
        state.withLock { _ = $0.live.remove(pid) }
        return status
    }

    /// Ends a child: by SIGTERM, after three seconds by SIGKILL.
    static func end(_ pid: pid_t) {
        guard state.withLock({ $0.live.contains(pid) }) else { return }
        kill(pid, SIGTERM)
        for _ in 0..<3000 {
            if reap(pid) != nil { return }
            usleep(1000)
        }
        kill(pid, SIGKILL)
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        state.withLock { _ = $0.live.remove(pid) }
    }

    /// Returns at once, unless a signal is ending this program: then the signal caused the caller's error, and the
    /// handler ends the program.
    static func yieldToSignals() {
        while state.withLock({ $0.signalled }) { pause() }
    }

    /// Ends every child and starts no more.
    static func endAll() {
        let live = state.withLock { state in
            state.stopping = true
            return state.live
        }
        live.forEach(end)
    }

    /// SIGINT and SIGTERM end every child, call `cleanUp`, and end this program.
    ///
    /// - Returns: objects that must be kept for this to work.
    static func endOnSignals(
        cleanUp: @escaping @Sendable () -> Void
    ) -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                state.withLock { $0.signalled = true }
                endAll()
                cleanUp()
                exit(128 + number)
            }
            source.activate()
            return source
        }
    }
}
