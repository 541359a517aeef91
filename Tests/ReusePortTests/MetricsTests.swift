// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import MetricsTestKit
import ReusePortLB
import ReusePortLBMetrics
import Testing

extension ReusePortTests {
    @Suite("Metrics")
    struct MetricsTests {}
}

extension ReusePortTests.MetricsTests {
    @Test("a backend of swift-metrics gets the group's counters and gauges, and only what is new")
    func backend() throws {
        let group = try Place().group(count: 2)
        let members = try Members(group, count: 2, on: try .free())
        let spray = try Spray(to: members.endpoint)
        let backend = TestMetrics()
        let metrics = GroupMetrics(factory: backend)
        for round in 1...3 {
            try spray.send(from: IPAddress.v4Sources(100))
            try metrics.record(group)
            var packets: Int64 = 0
            for slot in 0..<2 {
                let counter = try backend.expectCounter(
                    "reuseportlb_selected_packets_total", [("group", "g"), ("slot", "\(slot)")])
                packets += counter.totalValue
            }
            #expect(packets == Int64(100 * round))
        }
        let state = [("group", "g"), ("state", "current")]
        #expect(try backend.expectGauge("reuseportlb_members", state).lastValue == 2)
        members.die(0)
        try metrics.record(group)
        #expect(try backend.expectGauge("reuseportlb_members", state).lastValue == 1)
    }
}
