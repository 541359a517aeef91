// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Logging
import PlaneContract
import Testing
import UserspacePlane

extension Stage {
    /// This plane on loopback.
    static let userspace = Stage(mode: .userspace) { UserspacePlane(logger: .silent) }
}

extension Logger {
    static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}

@Suite("The userspace plane")
struct PromiseTests {
    @Test("keeps what every plane promises", arguments: Promise.all)
    func promises(promise: Promise) async throws {
        try await promise.check(.userspace)
    }
}
