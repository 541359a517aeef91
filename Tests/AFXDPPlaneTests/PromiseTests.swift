// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing
import Tiers

/// All suites of this module.
@Suite(
    "The AF_XDP plane", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct AFXDPPlaneTests {
    @Test("keeps what every plane promises", arguments: Promise.functional)
    func promises(promise: Promise) async throws {
        let lab = try VethLab()
        try await lab.balancer.run { try await promise.check(lab.stage()) }
    }

    @Test("keeps it under load", .tags(.load), arguments: Promise.underLoad)
    func promisesUnderLoad(promise: Promise) async throws { try await promises(promise: promise) }

    @Test("keeps them in SKB mode as well", .tags(.load), arguments: Promise.load)
    func promisesInTheStack(promise: Promise) async throws {
        let lab = try VethLab()
        try await lab.balancer.run { try await promise.check(lab.stage(mode: .skb)) }
    }
}
