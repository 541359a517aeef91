// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxNet

/// A network namespace that lives as long as this object, and can be entered many times.
public final class Network: Sendable {
    private let descriptor: Int32

    private typealias SetNamespace = @convention(c) (Int32, Int32) -> Int32
    private typealias Unshare = @convention(c) (Int32) -> Int32
    private static let newNetwork: Int32 = 0x4000_0000  // CLONE_NEWNET, sched.h
    private static let mine = "/proc/thread-self/ns/net"

    /// Creates an empty one, in which `lo` is up.
    public init() throws {
        let outside = open(Self.mine, O_RDONLY | O_CLOEXEC)
        defer { close(outside) }
        guard outside >= 0, hidden("unshare", as: Unshare.self)(Self.newNetwork) == 0 else {
            throw SystemError("unshare", code: errno)
        }
        descriptor = open(Self.mine, O_RDONLY | O_CLOEXEC)
        guard hidden("setns", as: SetNamespace.self)(outside, Self.newNetwork) == 0 else {
            throw SystemError("setns", code: errno)
        }
        try ip("link set lo up")
    }

    deinit { close(descriptor) }

    /// The path for ip(8): `link set x netns PATH`.
    public var path: String { "/proc/\(getpid())/fd/\(descriptor)" }

    /// Runs `body` in it, on the calling thread. Sockets and threads made there stay there.
    public func enter<Value>(_ body: () throws -> Value) throws -> Value {
        let outside = open(Self.mine, O_RDONLY | O_CLOEXEC)
        defer {
            _ = hidden("setns", as: SetNamespace.self)(outside, Self.newNetwork)
            close(outside)
        }
        try join()
        return try body()
    }

    /// Runs `body` in it, and every default actor that it calls, on a thread of its own.
    ///
    /// - Parameter ownMounts: whether mounts and pins of `body` and its children are private and end with them; no BPF
    ///   file system is mounted at first.
    public func run<Value: Sendable>(
        ownMounts: Bool = false, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        let setup: @Sendable () throws -> Void = { [self] in
            try join()
            if ownMounts { try Namespace.unshareMounts() }
        }
        return try await LabThread.run(setup: setup, body)
    }

    private func join() throws {
        guard hidden("setns", as: SetNamespace.self)(descriptor, Self.newNetwork) == 0 else {
            throw SystemError("setns", code: errno)
        }
    }

    /// Runs `ip` with these arguments in it.
    public func ip(_ arguments: String) throws { try command("ip " + arguments) }

    /// Runs a command in it.
    public func command(_ line: String) throws { try enter { try Namespace.command(line) } }

    /// Sets a variable below /proc/sys/net.
    public func set(_ variable: String, to value: String) throws {
        try enter { try Namespace.set(variable, to: value) }
    }
}
