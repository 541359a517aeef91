// SPDX-License-Identifier: Apache-2.0

import Foundation
public import Glibc

/// A process that a test started: its output line by line, and how it ended. When the last reference goes, the
/// process is killed by its id if it still runs.
public final class ChildProcess: Sendable {
    public let pid: pid_t
    public let record: ChildRecord
    /// An object that is kept as long as the process may need it.
    private let folder: ScratchFolder?

    /// How a standard stream of the child is connected.
    public enum Stream { case collected, closed, inherited(Int32) }

    /// Starts `path` with default signal handling and an empty signal mask, whatever those of this process are.
    ///
    /// - Parameters:
    ///   - environment: added to a small one with only PATH.
    ///   - passing: open in the child from 3 on, as systemd passes them (sd_listen_fds(3)): each with its name.
    ///   - folder: the working directory.
    public init(
        _ path: String, _ arguments: [String], environment: [String: String] = [:],
        input: Stream = .inherited(Files.null), output: Stream = .collected,
        errors: Stream = .collected, passing: [(descriptor: Int32, name: String)] = [],
        folder: ScratchFolder? = nil
    ) throws {
        self.folder = folder
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var ours: [Int32: Int32] = [:]
        var theirs: [Int32] = []
        for (number, stream) in [(Int32(0), input), (1, output), (2, errors)] {
            switch stream {
            case .closed: posix_spawn_file_actions_addclose(&actions, number)
            case .inherited(let descriptor):
                posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            case .collected:
                let pair = try Files.streamPair()
                ours[number] = pair.0
                theirs.append(pair.1)
                posix_spawn_file_actions_adddup2(&actions, pair.1, number)
            }
        }
        // Moved away first: one of them may have the number that another needs.
        let passed = passing.map { fcntl($0.descriptor, F_DUPFD_CLOEXEC, 200) }
        defer { for descriptor in passed { close(descriptor) } }
        for (index, descriptor) in passed.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(3 + index))
        }
        var environment = environment
        if !passing.isEmpty {
            environment["LISTEN_FDS"] = "\(passing.count)"
            environment["LISTEN_FDNAMES"] = passing.map(\.name).joined(separator: ":")
        }
        // The shell knows the process id, which stays the same.
        let shell =
            passing.isEmpty
            ? [] : ["/bin/sh", "-c", "LISTEN_PID=$$; export LISTEN_PID; exec \"$@\"", "sh"]
        // env(1) changes the folder and executes the program, so the id stays the same.
        let command =
            shell + (folder.map { ["/usr/bin/env", "-C", $0.url.path] } ?? []) + [path]
            + arguments
        let spawned = Self.spawn(command, environment, &actions)
        for descriptor in theirs { close(descriptor) }
        guard spawned.code == 0 else {
            for descriptor in ours.values { close(descriptor) }
            throw Failed("posix_spawn \(path)", spawned.code)
        }
        pid = spawned.pid
        record = ChildRecord(name: URL(filePath: path).lastPathComponent, open: Array(ours.keys))
        for (number, descriptor) in ours { record.collect(descriptor, as: number) }
        record.awaitEnd(of: pid)
    }

    deinit { record.kill(pid, SIGKILL) }

    private static func spawn(
        _ command: [String], _ environment: [String: String],
        _ actions: inout posix_spawn_file_actions_t
    ) -> (code: Int32, pid: pid_t) {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var all = sigset_t()
        sigfillset(&all)
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        var full = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"]
        full.merge(environment) { $1 }
        let argv = command.map { strdup($0) } + [nil]
        let envp = full.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in argv + envp { free(text) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, command[0], &actions, &attributes, argv, envp)
        return (code, pid)
    }

    // MARK: Signals and the end

    /// Sends a signal, unless the process has ended.
    public func send(_ signal: Int32) { record.kill(pid, signal) }

    /// Waits for the end of the process and of its output.
    public func exit(within limit: Duration = .seconds(60)) async throws -> Ending {
        try await record.wait("the end of process \(pid)", within: limit) { state in
            state.open.isEmpty ? state.ending : nil
        }
    }

    /// Kills it, if it still runs, and waits until the kernel has removed it.
    public func end() async {
        send(SIGKILL)
        _ = try? await record.wait("the end of process \(pid)") { $0.ending }
    }
}

/// How a process ended.
public enum Ending: Equatable, Sendable {
    case exited(Int32)
    case killed(Int32)

    /// The status of waitpid(2).
    public init(status: Int32) {
        let signal = status & 0x7f
        self = signal == 0 ? .exited((status >> 8) & 0xff) : .killed(signal)
    }
}

/// A failed call of the test itself.
public struct Failed: Error, CustomStringConvertible {
    public let description: String

    public init(_ call: String, _ code: Int32 = errno) {
        description = "\(call): \(String(cString: strerror(code)))"
    }
}
