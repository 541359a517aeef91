// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import LabNet
import Testing
import Tiers

@Suite("The watch over refusals", .tags(.unit))
struct RefusalWatchTests {
    private static let warning =
        "downstream refuses datagrams: nothing listens there, or a firewall rejects them"

    private func counters(_ refusals: [UInt64]) -> [ListenerCounters] {
        var counters = ListenerCounters(listener: "in", mode: .userspace)
        counters.downstreams = refusals.enumerated().map { index, count in
            var downstream = DownstreamCounters(
                Downstream(
                    name: "r\(index)",
                    endpoint: Endpoint(IPAddress(v4: 0x7f00_0001), port: UInt16(9 + index))))
            downstream.refusals = count
            return downstream
        }
        return [counters]
    }

    @Test("warns once a minute for each receiver, with the refusals since the last time")
    func pace() {
        let log = LogRecorder()
        var watch = RefusalWatch()
        let start = ContinuousClock.now
        func note(_ refusals: [UInt64], after seconds: Int) -> [String] {
            let before = log.lines.count
            watch.note(counters(refusals), at: start + .seconds(seconds), log.logger)
            return log.lines[before...].map {
                "\($0.fields["downstream"] ?? "") \($0.fields["refusals"] ?? "")"
            }
        }
        #expect(note([0, 0], after: 0) == [])
        #expect(note([0, 5], after: 1) == ["r1 5"])
        for second in 2..<61 { #expect(note([0, UInt64(5 + second)], after: second) == []) }
        #expect(note([0, 100], after: 61) == ["r1 95"])
        #expect(note([1, 100], after: 62) == ["r0 1"])
        // Nothing new, nothing said.
        #expect(note([1, 100], after: 200) == [])
        #expect(note([2, 101], after: 201) == ["r0 1", "r1 1"])
        let line = log.lines.first
        #expect(line?.message == Self.warning && line?.level == .warning)
        #expect(line?.fields["listener"] == "in" && line?.fields["address"] == "127.0.0.1:10")
    }

    @Test("a receiver that has left and is back begins anew")
    func back() {
        let log = LogRecorder()
        var watch = RefusalWatch()
        watch.note(counters([7]), at: .now, log.logger)
        watch.note([], at: .now, log.logger)
        watch.note(counters([2]), at: .now, log.logger)
        #expect(log.count(Self.warning) == 2)
    }
}
