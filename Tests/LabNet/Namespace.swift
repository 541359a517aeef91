// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxNet

/// A private network with nothing but a loopback that is down. Needs root.
public enum Namespace {
    private static let newNetwork: Int32 = 0x4000_0000  // CLONE_NEWNET, sched.h

    /// Runs `body` in a new namespace, which ends with the last socket in it.
    ///
    /// - Parameter commands: arguments of ip(8) that run first, such as `link set lo up`.
    public static func run<Value: Sendable>(
        _ commands: [String], _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await LabThread.run(setup: setup(commands), body)
    }

    /// A thread in a new namespace, for tests that need more than one.
    public static func thread(_ commands: [String]) async throws -> LabThread {
        try await LabThread(setup: setup(commands))
    }

    private static func setup(_ commands: [String]) -> @Sendable () throws -> Void {
        { try unshareNetwork(commands) }
    }

    static func unshareNetwork(_ commands: [String]) throws {
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard hidden("unshare", as: Unshare.self)(newNetwork) == 0 else {
            throw SystemError("unshare", code: errno)
        }
        for command in commands { try ip(command) }
    }

    /// The calling thread's id, by which ip(8) finds its namespace: `link set x netns NUMBER`.
    public static var threadNumber: Int32 {
        typealias GetThread = @convention(c) () -> Int32
        return hidden("gettid", as: GetThread.self)()
    }

    /// Runs `ip` with these arguments in the namespace of the calling thread.
    public static func ip(_ arguments: String) throws { try command("ip " + arguments) }

    /// Runs a command in the namespace of the calling thread; spaces separate its words.
    public static func command(_ line: String) throws {
        let words = line.split(separator: " ").map(String.init)
        var pointers = words.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        pointers.append(nil)
        var child: pid_t = 0
        let error = posix_spawnp(&child, words[0], nil, nil, pointers, environ)
        guard error == 0 else { throw SystemError("posix_spawn \(words[0])", code: error) }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw CommandFailed(command: words.joined(separator: " ")) }
    }

    /// Sets a variable below /proc/sys/net in the calling thread's namespace.
    public static func set(_ variable: String, to value: String) throws {
        let file = open("/proc/sys/net/" + variable, O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { throw SystemError("open \(variable)", code: errno) }
        defer { close(file) }
        guard write(file, value, value.utf8.count) > 0 else {
            throw SystemError("write \(variable)", code: errno)
        }
    }
}

/// A command that ended with a status other than 0; its messages are on standard error.
public struct CommandFailed: Error, CustomStringConvertible {
    public let command: String

    public var description: String { "failed: \(command)" }
}
