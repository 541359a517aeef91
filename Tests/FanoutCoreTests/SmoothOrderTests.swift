// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("The order of round robin", .tags(.unit))
struct SmoothOrderTests {
    private func order(_ weights: [UInt16]) -> String {
        let slots = Balance.roundRobin.slotTable(for: DownstreamSet.weighted(weights), capacity: 64)
            .slots
        return String(decoding: slots.map { UInt8(ascii: "a") + UInt8($0) }, as: UTF8.self)
    }

    @Test(
        "weights make nginx's smooth order",
        arguments: [
            ([5, 1, 1], "aabacaa"), ([1, 1, 1], "abc"), ([1], "a"), ([2, 1], "aba"),
            ([1, 2], "bab"), ([3, 2, 1], "abacba"), ([0, 1, 0, 1], "bd"),
        ] as [([UInt16], String)])
    func smooth(weights: [UInt16], wanted: String) {
        #expect(order(weights) == wanted)
    }

    @Test("weights count in lowest terms")
    func lowestTerms() {
        #expect(order([50_000, 10_000, 10_000]) == order([5, 1, 1]))
        #expect(order([65_535, 65_535]) == "ab")
    }

    @Test("the order follows the endpoints, whatever the order of the config")
    func byEndpoint() {
        let set = Array(DownstreamSet.weighted([5, 1, 1]).reversed())
        let table = Balance.roundRobin.slotTable(for: set, capacity: 64)
        #expect(table.slots == [2, 2, 1, 2, 0, 2, 2])
    }

    @Test(
        "equal receivers alternate strictly, so that counts never differ by more than one",
        arguments: [2, 3, 64, 1024])
    func strictTurns(count: Int) {
        let set = DownstreamSet.weighted(Array(repeating: 7, count: count))
        let slots = Balance.roundRobin.slotTable(for: set, capacity: count).slots
        #expect(slots == (0..<count).map { UInt16($0) })
    }

    @Test(
        "weights without a small common divisor stay in a table of bounded length",
        arguments: [2, 64, 1024])
    func approximated(count: Int) {
        let set = DownstreamSet.weighted((0..<count).map { 65_535 - UInt16($0) })
        let table = Balance.roundRobin.slotTable(for: set, capacity: count)
        #expect(table.slots.count == max(SmoothWeightedTable.longest, 128 * count))
        for (actual, wanted) in zip(table.shares(of: count), set.shares) {
            #expect(abs(actual - wanted) * Double(table.slots.count) < 1.5)
        }
    }

    @Test("no receiver waits longer than its weight allows, plus one step of each other receiver")
    func spacing() {
        let weights: [UInt16] = [40_000, 39_999, 20_011]
        let set = DownstreamSet.weighted(weights)
        let slots = Balance.roundRobin.slotTable(for: set, capacity: 64).slots
        for index in weights.indices {
            let turns = slots.indices.filter { Int(slots[$0]) == index }
            let longest = zip(turns, turns.dropFirst()).map { $1 - $0 }.max() ?? 0
            #expect(Double(longest) <= 1 / set.shares[index] + Double(weights.count))
        }
    }
}
