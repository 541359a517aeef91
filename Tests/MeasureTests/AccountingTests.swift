// SPDX-License-Identifier: Apache-2.0

import Testing
import Tiers

@testable import Measure

@Suite("The counters that the bench reads", .tags(.unit))
struct AccountingTests {
    static let scrape = """
        # HELP udp_fanout_packets_received_total Datagrams.
        # TYPE udp_fanout_packets_received_total counter
        udp_fanout_packets_received_total{listener="bench",mode="userspace"} 110
        udp_fanout_packets_received_total{listener="other",mode="userspace"} 7
        udp_fanout_packets_forwarded_total{listener="bench",mode="userspace"} 100
        udp_fanout_downstream_packets_forwarded_total{listener="bench",downstream="a"} 100
        udp_fanout_packets_dropped_total{listener="bench",mode="userspace",reason="oversize"} 4
        udp_fanout_packets_dropped_total{listener="bench",mode="userspace",reason="refused"} 6
        udp_fanout_kernel_drops_total{listener="bench",mode="userspace"} 1e3
        """

    @Test("sums the series of its own listener")
    func sums() throws {
        let accounting = try Accounting(scrape: Self.scrape, listener: "bench")
        #expect(
            accounting == Accounting(received: 110, forwarded: 100, dropped: 10, kernelDrops: 1000))
    }

    @Test("tells what has been counted since an earlier look")
    func difference() {
        func accounting(_ factor: Int) -> Accounting {
            Accounting(
                received: 7 * factor, forwarded: 4 * factor, dropped: 2 * factor,
                kernelDrops: factor)
        }
        #expect(accounting(3) - accounting(1) == accounting(2))
    }

    @Test("names a metric that is missing")
    func missing() {
        #expect(
            throws: MissingMetric(name: "udp_fanout_packets_forwarded_total", listener: "other")
        ) {
            try Accounting(scrape: Self.scrape, listener: "other")
        }
    }

    @Test("is doubted when it does not balance, and when the sinks saw something else")
    func doubts() {
        func doubts(_ received: Int, _ forwarded: Int, _ dropped: Int, arrived: Int) -> [String] {
            Accounting(received: received, forwarded: forwarded, dropped: dropped, kernelDrops: 0)
                .doubts(
                    against: Sample(
                        arrived: 0, cpuNanoseconds: 0, sentInAll: 5000, perSinkInAll: [arrived]))
        }
        #expect(doubts(4010, 4000, 10, arrived: 4000) == [])
        #expect(doubts(4010, 4000, 10, arrived: 3996) == [], "the kernel lost a few")
        #expect(doubts(4010, 4000, 9, arrived: 4000).count == 1)
        #expect(doubts(4010, 4000, 10, arrived: 3990).count == 1)
        #expect(doubts(4010, 4000, 10, arrived: 4001).count == 1)
        #expect(doubts(6000, 6000, 0, arrived: 6000).count == 1)
    }
}
