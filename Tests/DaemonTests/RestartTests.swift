// SPDX-License-Identifier: Apache-2.0

import Glibc
import LabNet
import Testing
import Tiers

/// The signal that the units send for a restart, in a network of veths.
@Suite(
    "A restart in the kernel modes", .tags(.load), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct RestartTests {
    @Test(
        "SIGUSR2 ends it in order; the program forwards until the next start; no datagram is lost",
        arguments: [("tc_ebpf", "tcx"), ("tc_ebpf", "clsact"), ("xdp_nat", "auto")])
    func restart(mode: String, attach: String) async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let (before, sinks) = (try VethLab.state(), try lab.sinks())
            let yaml = VethLab.config(sinks.map(\.endpoint), mode: mode, attach: attach)
            var daemon = try DaemonUnderTest(yaml)
            try await daemon.isRunning()
            let load = try Load([lab.traffic()], rate: 50_000)
            for _ in 0..<3 {
                try await load.pass(10_000)
                daemon.process.send(SIGUSR2)
                #expect(try await daemon.process.exit() == .exited(0))
                #expect(daemon.log.last?.message == "udp-fanout stopped")
                try await load.pass(10_000)
                daemon = try DaemonUnderTest(yaml, folder: daemon.folder)
                try await daemon.isRunning()
            }
            try await load.pass(10_000)
            let report = await load.stop()
            try await eventually("all arrive") { sinks.arrivals == report.datagrams }
            let delivery = Delivery(of: report, at: sinks)
            #expect(delivery.isExact(), "\(delivery)")
            try await daemon.stop()
            #expect(try VethLab.state() == before)
        }
    }
}
