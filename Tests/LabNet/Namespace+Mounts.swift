// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxNet

extension Namespace {
    /// Runs `body` in a new network and a new mount namespace: its mounts and pins, and those of its children, are
    /// private and end with them, and they see no pins from outside.
    ///
    /// - Parameter commands: as for `run`.
    public static func withOwnMounts<Value: Sendable>(
        _ commands: [String], _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await LabThread.run(
            setup: {
                try unshareNetwork(commands)
                try unshareMounts()
            }, body)
    }

    static func unshareMounts() throws {
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard hidden("unshare", as: Unshare.self)(0x0002_0000) == 0 else {  // CLONE_NEWNS
            throw SystemError("unshare", code: errno)
        }
        let flags = UInt(MS_REC | MS_PRIVATE)
        guard mount("none", "/", nil, flags, nil) == 0 else {
            throw SystemError("make mounts private", code: errno)
        }
        // A namespace's copy of a mount shows the same pins, also those of other tests and killed daemons.
        while umount2("/sys/fs/bpf", Int32(MNT_DETACH)) == 0 {}
    }
}
