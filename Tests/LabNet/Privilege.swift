// SPDX-License-Identifier: Apache-2.0

import Glibc
import LinuxNet

/// The privileges of this process, for the traits of tests that need them.
public enum Privilege {
    public static var isRoot: Bool { geteuid() == 0 }

    /// Runs `body` on a thread without any capability, even as root.
    public static func without<Result: Sendable>(
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        let setup: @Sendable () throws -> Void = {
            typealias Capset = @convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> Int32
            // _LINUX_CAPABILITY_VERSION_3 and the calling thread; then two rows of three sets.
            let header: [UInt32] = [0x2008_0522, 0]
            let none = [UInt32](repeating: 0, count: 6)
            guard hidden("capset", as: Capset.self)(header, none) == 0 else {
                throw SystemError("capset", code: errno)
            }
        }
        return try await LabThread.run(setup: setup, body)
    }
}
