// SPDX-License-Identifier: Apache-2.0

import LabNet
import PlaneContract
import Testing

/// All suites of this module: one test at a time, since most of them load both CPUs.
@Suite(
    "The TC plane", .serialized, .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"),
    .enabled(
        if: KernelRelease.running >= .takesFanout,
        "NOT TESTED: tc_fanout needs Linux \(KernelRelease.takesFanout)"))
struct TCPlaneTests {
    @Test("keeps what every plane promises", arguments: Promise.all)
    func promises(promise: Promise) async throws {
        let (lab, pins) = (try VethLab(), try BPFFileSystem())
        try await lab.balancer.run { try await promise.check(lab.stage(pins)) }
    }

    @Test("keeps them by clsact as well", arguments: Promise.load)
    func promisesByClsact(promise: Promise) async throws {
        let (lab, pins) = (try VethLab(), try BPFFileSystem())
        var stage = lab.stage(pins)
        stage.attach = .clsact
        try await lab.balancer.run { [stage] in try await promise.check(stage) }
    }
}
