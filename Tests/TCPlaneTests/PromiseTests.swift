// SPDX-License-Identifier: Apache-2.0

import LabNet
import PlaneContract
import Testing

/// All suites of this module: one test at a time, since most of them load both CPUs.
@Suite("The TC plane", .serialized, .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct TCPlaneTests {
    @Test("keeps what every plane promises", arguments: Promise.all)
    func promises(promise: Promise) async throws {
        let lab = try TCLab()
        try await lab.balancer.run { try await promise.check(lab.stage) }
    }
}
