// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

@Suite("Drop reasons and accounting", .tags(.unit))
struct DropReasonTests {
    @Test("each reason has its own index and none is unused")
    func indices() {
        let indices = DropReason.allCases.map(\.index)
        #expect(indices.sorted() == Array(0..<Int(LB_DROP_REASONS.rawValue)))
    }

    @Test("each reason is a label of lower case and underscores")
    func labels() {
        for reason in DropReason.allCases {
            #expect(reason.rawValue.allSatisfy { $0 == "_" || ("a"..."z").contains($0) })
        }
    }

    @Test("only an empty table and an oversized datagram are the listener's own reasons")
    func blame() {
        let listeners = DropReason.allCases.filter { !$0.isDownstreams }
        #expect(Set(listeners) == [.noHealthy, .oversize])
    }

    @Test("the counters add up when each datagram is forwarded or has a reason")
    func accounting() {
        var counters = ListenerCounters(listener: "syslog", mode: .userspace)
        #expect(counters.isBalanced)
        counters.packetsReceived = 10
        counters.packetsForwarded = 7
        counters.drops = [.refused: 2]
        #expect(!counters.isBalanced)
        counters.drops[.noHealthy] = 1
        #expect(counters.isBalanced)
        #expect(counters.packetsDropped == 3)
    }

    @Test("kernel drops before reception are not part of the accounting")
    func kernelDrops() {
        var counters = ListenerCounters(listener: "syslog", mode: .userspace)
        counters.kernelDrops = 5
        #expect(counters.isBalanced)
    }
}
