// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("The history of rates", .tags(.unit))
struct RateHistoryTests {
    private let begin = ContinuousClock.now

    private func counters(_ name: String, _ received: UInt64) -> ListenerCounters {
        var counters = ListenerCounters(listener: name, mode: .userspace)
        counters.packetsReceived = received
        counters.packetsForwarded = received / 2
        return counters
    }

    @Test("has a point each two seconds, of every listener and of their sum")
    func points() {
        var history = RateHistory()
        for second in UInt64(0)...9 {
            history.note(
                [counters("a", second * 100), counters("b", second * 10)],
                at: begin + .seconds(second))
        }
        #expect(history.points(of: "a").map(\.received) == [100, 100, 100, 100])
        #expect(history.points(of: "a").map(\.forwarded) == [50, 50, 50, 50])
        #expect(history.total.map(\.received) == [110, 110, 110, 110])
        #expect(history.total.map(\.dropped) == [0, 0, 0, 0])
        #expect(history.total.last?.time == begin + .seconds(8))
        #expect(history.points(of: "c") == [])
    }

    @Test("ends two minutes back, whatever lies between")
    func bound() {
        var history = RateHistory()
        for second in UInt64(0)...1000 {
            history.note([counters("a", second)], at: begin + .seconds(second))
        }
        #expect(history.points(of: "a").count == 60)
        #expect(history.total.count == 60)
        #expect(history.total.first?.time == begin + .seconds(882))
        history.note([counters("a", 2000)], at: begin + .seconds(1100))
        #expect(history.total.first?.time == begin + .seconds(982))
        history.note([counters("a", 2000)], at: begin + .seconds(5000))
        #expect(history.total.count == 1)
    }

    @Test("forgets listeners that have gone, and keeps 1 024 at most")
    func listeners() {
        var history = RateHistory()
        let many = (0..<2000).map { counters("\($0)", 1) }
        history.note(many, at: begin)
        history.note(many, at: begin + .seconds(2))
        let kept = (0..<2000).count { !history.points(of: "\($0)").isEmpty }
        #expect(kept == 1024)
        history.note([counters("0", 5)], at: begin + .seconds(4))
        #expect((1..<2000).allSatisfy { history.points(of: "\($0)").isEmpty })
    }

    @Test("of a counter that began anew has what came since")
    func restart() {
        var history = RateHistory()
        history.note([counters("a", 1000)], at: begin)
        history.note([counters("a", 30)], at: begin + .seconds(2))
        #expect(history.points(of: "a").map(\.received) == [15])
    }
}
