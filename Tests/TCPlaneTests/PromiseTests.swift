// SPDX-License-Identifier: Apache-2.0

import LabNet
import PlaneContract
import Testing
import Tiers

/// All suites of this module.
@Suite(
    "The TC plane", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"),
    .enabled(
        if: KernelRelease.running >= .takesFanout,
        "NOT TESTED: tc_fanout needs Linux \(KernelRelease.takesFanout)"))
struct TCPlaneTests {
    @Test("keeps what every plane promises", arguments: Promise.functional)
    func promises(promise: Promise) async throws {
        let (lab, pins) = (try VethLab(), try BPFFileSystem())
        try await lab.balancer.run { try await promise.check(lab.stage(pins)) }
    }

    @Test("keeps it under load", .tags(.load), arguments: Promise.underLoad)
    func promisesUnderLoad(promise: Promise) async throws { try await promises(promise: promise) }

    @Test("keeps them by clsact as well", .tags(.load), arguments: Promise.load)
    func promisesByClsact(promise: Promise) async throws {
        let (lab, pins) = (try VethLab(), try BPFFileSystem())
        var stage = lab.stage(pins)
        stage.attach = .clsact
        try await lab.balancer.run { [stage] in try await promise.check(stage) }
    }
}
