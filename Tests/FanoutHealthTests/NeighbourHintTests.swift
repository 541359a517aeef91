// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutControl
import LabNet
import Testing
import Tiers

@Suite(
    "What the kernel knows of neighbours", .tags(.network),
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct NeighbourHintTests {
    @Test(
        "a host that does not answer ARP is not taken for a silent receiver, however short the interval"
    )
    func deadHost() async throws {
        let lab = try VethLab(receivers: 1)
        let sink = try lab.receivers[0].enter { try Sink(on: VethLab.v4(1, 2)) }
        try await lab.balancer.run {
            let watch = Watch()
            let dead = ProbeTarget(.udp, Endpoint(VethLab.v4(1, 77), port: 9))
            let silent = ProbeTarget(.udp, sink.endpoint)
            try watch.follow([dead, silent], interval: .milliseconds(600))
            for _ in 0..<3 { #expect(try await watch.next(dead) == .unreachable) }
            #expect(watch.reports.last { $0.target == dead }?.detail.contains("ARP") == true)
            #expect(try await watch.next(silent) == .success)
            #expect(!watch.results(of: silent).contains(.unreachable))
            // It dies, and is not trusted any longer once the kernel has forgotten where it was.
            try lab.receivers[0].ip("address del \(VethLab.v4(1, 2))/24 dev in0")
            try lab.balancer.ip("neighbour flush dev out0")
            try await eventually("its silence is another now") {
                watch.results(of: silent).last == .unreachable
            }
            try lab.receivers[0].ip("address add \(VethLab.v4(1, 2))/24 dev in0")
            try await eventually("it is trusted again") {
                watch.results(of: silent).last == .success
            }
        }
    }
}
