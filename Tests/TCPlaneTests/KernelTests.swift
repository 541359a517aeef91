// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import PlaneContract
import TCPlane
import Testing
import Tiers

/// A feature that an old kernel lacks is replaced, or refused with the version that has it. Each test checks what it
/// expects of the running kernel; `make test-kernels` runs several.
@Suite(
    "The TC plane and the kernel version", .tags(.network),
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct KernelTests {
    @Test(
        "auto uses TCX where the kernel has it, otherwise clsact",
        .enabled(
            if: KernelRelease.running >= .takesFanout,
            "NOT TESTED: tc_fanout needs Linux \(KernelRelease.takesFanout)"))
    func automatic() async throws {
        let (lab, pins) = (try VethLab(), try BPFFileSystem())
        try await lab.balancer.run {
            let stage = lab.stage(pins)
            let sinks = try stage.sinks(1)
            let listener = try stage.listener(to: sinks.downstreams())
            let rig = try await stage.rig([listener])
            let filters = try Shell.output("tc filter show dev lb0 ingress")
            let isFilter = filters.contains("udp_fanout:[")
            #expect(isFilter == (KernelRelease.running < .hasTCX), "\(filters)")
            try stage.traffic(to: listener).send([1])
            try await eventually("it forwards") { sinks[0].count == 1 }
            await rig.stop()
        }
        #expect(pins.isEmpty)
    }

    @Test(
        "tcx is never replaced; without it the error names the kernel version that has it",
        .enabled(
            if: KernelRelease.running >= .takesFanout,
            "NOT TESTED: tc_fanout needs Linux \(KernelRelease.takesFanout)"))
    func explicit() async throws {
        let (lab, pins) = (try VethLab(), try BPFFileSystem())
        try await lab.balancer.run {
            var stage = lab.stage(pins)
            stage.attach = .tcx
            let listener = try stage.listener(to: [])
            if KernelRelease.running >= .hasTCX {
                await (try stage.rig([listener])).stop()
            } else {
                let error = try await #require(throws: PlaneError.self) {
                    _ = try await stage.rig([listener])
                }
                #expect(error.remedy == "TCX needs Linux 6.6; use clsact", "\(error)")
            }
            #expect(try Shell.output("tc filter show dev lb0 ingress") == "")
        }
        #expect(pins.isEmpty)
    }

    @Test("the error of a kernel that rejects the program names the version that accepts it")
    func program() async throws {
        let (lab, pins) = (try VethLab(), try BPFFileSystem())
        try await lab.balancer.run {
            let stage = lab.stage(pins)
            let listener = try stage.listener(to: [])
            guard KernelRelease.running < .takesFanout else {
                await (try stage.rig([listener])).stop()
                return
            }
            let error = try await #require(throws: PlaneError.self) {
                _ = try await stage.rig([listener])
            }
            let wanted = "mode tc_ebpf needs Linux \(KernelRelease.takesFanout), and this is"
            #expect(error.remedy.hasPrefix("\(wanted) \(KernelRelease.running)"), "\(error)")
        }
        #expect(pins.isEmpty)
    }
}
