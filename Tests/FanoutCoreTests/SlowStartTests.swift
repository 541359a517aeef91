// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

/// Times are set by the test: nothing here waits.
@Suite("A slow start", .tags(.unit))
struct SlowStartTests {
    private let start = ContinuousClock.now

    private func receiver(_ number: Int, weight: UInt16 = 1, isEnabled: Bool = true) -> Downstream {
        Downstream(
            name: "r\(number)",
            endpoint: Endpoint(IPAddress(v4: 0x0a00_0000 + UInt32(number)), port: 9000),
            weight: weight, isEnabled: isEnabled)
    }

    private func state(_ receivers: [Downstream], seconds: Int = 100) -> DesiredState {
        DesiredState(listeners: [
            Listener(
                name: "in", bind: Endpoint(IPAddress(v4: 0x7f00_0001), port: 514),
                balance: .sourceIP, downstreams: receivers,
                settings: ListenerSettings(slowStartSeconds: seconds))
        ])
    }

    /// The tenths of each receiver.
    private func tenths(
        _ slowStart: inout SlowStart, _ state: DesiredState, after seconds: Int
    ) -> [Int] {
        slowStart.lay(over: state, at: start + .seconds(seconds)).listeners[0].downstreams
            .map(\.warmth)
    }

    @Test(
        "is for receivers that join others: a tenth of the weight at first, all after nine tenths")
    func rises() {
        var slowStart = SlowStart()
        #expect(tenths(&slowStart, state([receiver(1)]), after: 0) == [10], "the first of all")
        let two = state([receiver(1), receiver(2)])
        #expect(tenths(&slowStart, two, after: 5) == [10, 1])
        #expect(slowStart.next == start + .seconds(15))
        #expect(tenths(&slowStart, two, after: 14) == [10, 1])
        #expect(tenths(&slowStart, two, after: 15) == [10, 2])
        #expect(tenths(&slowStart, two, after: 94) == [10, 9])
        #expect(slowStart.next == start + .seconds(95))
        #expect(tenths(&slowStart, two, after: 95) == [10, 10])
        #expect(slowStart.next == nil)
    }

    @Test("also is for recovered and undrained receivers, and starts anew each time")
    func again() {
        var slowStart = SlowStart()
        let well = state([receiver(1), receiver(2)])
        let ill = state([receiver(1), receiver(2, isEnabled: false)])
        let drained = state([receiver(1), receiver(2, weight: 0)])
        _ = tenths(&slowStart, well, after: 0)
        for (index, away) in [ill, drained, ill].enumerated() {
            let time = index * 60
            _ = tenths(&slowStart, away, after: time)
            #expect(slowStart.next == nil)
            #expect(tenths(&slowStart, well, after: time + 10) == [10, 1])
            #expect(tenths(&slowStart, well, after: time + 50) == [10, 5])
        }
    }

    @Test("is not for receivers without others beside them: a scale to zero and back")
    func fromNobody() {
        var slowStart = SlowStart()
        _ = tenths(&slowStart, state([]), after: 0)
        let all = state((1...3).map { receiver($0) })
        #expect(tenths(&slowStart, all, after: 1) == [10, 10, 10])
        _ = tenths(&slowStart, state([]), after: 2)
        #expect(tenths(&slowStart, all, after: 3) == [10, 10, 10])
    }

    @Test("is for listeners with the setting, for as long as they have it")
    func optional() {
        var slowStart = SlowStart()
        let one = [receiver(1)]
        let two = [receiver(1), receiver(2)]
        _ = tenths(&slowStart, state(one, seconds: 0), after: 0)
        #expect(tenths(&slowStart, state(two, seconds: 0), after: 1) == [10, 10])
        #expect(slowStart.next == nil)
        #expect(tenths(&slowStart, state(two), after: 2) == [10, 10], "no receiver has joined")
        let three = two + [receiver(3)]
        #expect(tenths(&slowStart, state(three), after: 3) == [10, 10, 1])
        #expect(tenths(&slowStart, state(three, seconds: 0), after: 4) == [10, 10, 10])
        #expect(slowStart.next == nil)
    }

    @Test(
        "gives the share of the tenths, and each step moves almost no other keys",
        arguments: Balance.allCases, [UInt16(1), 3, 20_000])
    func shares(balance: Balance, weight: UInt16) {
        func table(_ tenths: Int) -> [UInt16] {
            var all = (1...5).map { receiver($0, weight: weight) }
            all[4].warmth = tenths
            return balance.slotTable(for: all, capacity: 64).slots
        }
        var previous = table(1)
        for tenths in 1...10 {
            let slots = table(tenths)
            let share = Double(slots.count { $0 == 4 }) / Double(slots.count)
            let wanted = Double(tenths) / Double(40 + tenths)
            #expect(abs(share - wanted) < 0.012, "\(tenths) tenths have \(share)")
            guard Balance.hashed.contains(balance) else { continue }
            let others = zip(previous, slots).count { $0 != $1 && $1 != 4 }
            #expect(
                Double(others) / Double(slots.count) <= 0.02, "\(others) of \(slots.count) moved")
            previous = slots
        }
    }
}
