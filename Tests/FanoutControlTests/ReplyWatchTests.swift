// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import LabNet
import Testing
import Tiers

@Suite("The watch over replies", .tags(.unit))
struct ReplyWatchTests {
    private static let warning =
        "receivers answer; this listener is one-way: their replies are dropped"

    private func counters(_ name: String, replies: UInt64?) -> ListenerCounters {
        var counters = ListenerCounters(listener: name, mode: .userspace)
        counters.repliesDropped = replies
        counters.downstreams = [("a", 0), ("b", replies ?? 0)].map { name, replies in
            var downstream = DownstreamCounters(
                Downstream(
                    name: name, endpoint: Endpoint(IPAddress(v4: 0x7f00_0001), port: 9)))
            downstream.repliesDropped = replies
            return downstream
        }
        return counters
    }

    @Test("warns once for each listener, and names the receivers that reply")
    func once() {
        let log = LogRecorder()
        var watch = ReplyWatch()
        watch.note([counters("in", replies: 0), counters("out", replies: nil)], log.logger)
        #expect(log.lines.isEmpty)
        for replies: UInt64 in 1...3 {
            watch.note([counters("in", replies: replies)], log.logger)
        }
        #expect(log.count(Self.warning) == 1)
        let line = log.lines.first
        #expect(line?.level == .warning)
        #expect(line?.fields["listener"] == "in" && line?.fields["receivers"] == "b")
        #expect(line?.fields["remedy"]?.contains("xdp_nat") == true)
        watch.note([counters("in", replies: 4), counters("out", replies: 1)], log.logger)
        #expect(log.lines(Self.warning).map { $0.fields["listener"] } == ["in", "out"])
    }

    @Test("warns again of a listener that was removed and added")
    func again() {
        let log = LogRecorder()
        var watch = ReplyWatch()
        watch.note([counters("in", replies: 1)], log.logger)
        watch.note([], log.logger)
        watch.note([counters("in", replies: 1)], log.logger)
        #expect(log.count(Self.warning) == 2)
    }
}
