// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

/// All suites of this module: one test at a time, since most of them load both CPUs.
@Suite("The AF_XDP plane", .serialized, .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct AFXDPPlaneTests {
    @Test("keeps what every plane promises", arguments: Promise.all)
    func promises(promise: Promise) async throws {
        let lab = try VethLab()
        try await lab.balancer.run { try await promise.check(lab.stage()) }
    }

    @Test("keeps them in SKB mode as well", arguments: Promise.load)
    func promisesInTheStack(promise: Promise) async throws {
        let lab = try VethLab()
        try await lab.balancer.run { try await promise.check(lab.stage(mode: .skb)) }
    }
}
