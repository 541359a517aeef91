// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import GoldenVectors
import Testing
import Tiers

/// How much of the traffic changes its receiver when the set of receivers changes; the measurements
/// are in docs/decisions/0003-slot-tables.md.
@Suite("Disruption of hash-keyed tables", .tags(.unit))
struct DisruptionTests {
    /// Maximum share of keys that move although their receiver stays.
    static let limit = 0.02

    @Test(
        "when one of N leaves its keys move, and of the others' at most two per cent",
        arguments: [2, 3, 4, 8, 16, 64, 256, 1024])
    func departure(count: Int) {
        var random = SplitMix64(seed: UInt64(count))
        for _ in 0..<(count > 64 ? 1 : 4) {
            let set = DownstreamSet.random(count, using: &random)
            expectLittleMoves(in: set, capacity: count, leaving: count > 64 ? 1 : 2, &random)
        }
    }

    @Test("the same with weights, in listeners with room to spare", arguments: 0..<4)
    func weightedDeparture(seed: UInt64) {
        var random = SplitMix64(seed: 50 + seed)
        for _ in 0..<4 {
            let count = Int.random(in: 2...64, using: &random)
            let set = DownstreamSet.random(count, weights: 1...9, using: &random)
            expectLittleMoves(in: set, capacity: 64, leaving: 2, &random)
        }
    }

    /// Removes some receivers, one at a time.
    private func expectLittleMoves(
        in set: [Downstream], capacity: Int, leaving: Int, _ random: inout SplitMix64
    ) {
        let before = Balance.sourceIP.slotTable(for: set, capacity: capacity)
        for _ in 0..<leaving {
            let gone = Int.random(in: set.indices, using: &random)
            let drained = set.replacingWeight(at: gone, by: 0)
            let after = Balance.sourceIP.slotTable(for: drained, capacity: capacity)
            var own = 0
            var others = 0
            for (old, new) in zip(before.slots, after.slots) where old != new {
                if Int(old) == gone { own += 1 } else { others += 1 }
            }
            let total = Double(before.slots.count)
            #expect(abs(Double(own) / total - set.shares[gone]) <= 0.01)
            #expect(
                Double(others) / total <= Self.limit,
                "\(set[gone].name) of \(set.count): \(others) of \(before.slots.count) moved")
            #expect(set.count > 2 || others == 0)
        }
    }

    @Test("weight 0 moves the same keys as removal", arguments: Balance.hashed)
    func draining(_ balance: Balance) {
        var random = SplitMix64(seed: 40)
        let set = DownstreamSet.random(9, weights: 1...5, using: &random)
        let drained = set.replacingWeight(at: 4, by: 0)
        let removed = Array(set[..<4] + set[5...])
        let one = balance.slotTable(for: drained, capacity: 64).owners(among: drained)
        #expect(one == balance.slotTable(for: removed, capacity: 64).owners(among: removed))
    }

    @Test(
        "of real clients, one in N and at most two per cent more change their receiver",
        arguments: [2, 10, 64])
    func clients(count: Int) {
        var random = SplitMix64(seed: 900 + UInt64(count))
        let set = DownstreamSet.random(count, using: &random)
        let before = Balance.sourceIP.slotTable(for: set, capacity: 64)
        let after = Balance.sourceIP.slotTable(for: set.replacingWeight(at: 0, by: 0), capacity: 64)
        let clients = 50_000
        let moved = (0..<clients).filter { _ in
            let key = FlowKey.sourceIP(random.address())
            return before.owner(of: key) != after.owner(of: key)
        }
        #expect(Double(moved.count) / Double(clients) <= 1 / Double(count) + Self.limit)
    }

    @Test("a receiver that comes back gets its keys back", arguments: Balance.hashed)
    func comeback(_ balance: Balance) {
        var random = SplitMix64(seed: 77)
        let set = DownstreamSet.random(12, weights: 1...5, using: &random)
        let before = balance.slotTable(for: set, capacity: 64)
        for index in [0, 5, 11] {
            let without = set.replacingWeight(at: index, by: 0)
            #expect(balance.slotTable(for: without, capacity: 64) != before)
            let again = without.replacingWeight(at: index, by: set[index].weight)
            #expect(balance.slotTable(for: again, capacity: 64) == before)
        }
    }

    @Test(
        "a changed weight moves what the shares differ by and at most three per cent more",
        arguments: 0..<4)
    func reweighing(seed: UInt64) {
        var random = SplitMix64(seed: 300 + seed)
        for _ in 0..<4 {
            let count = Int.random(in: 2...40, using: &random)
            let set = DownstreamSet.random(count, weights: 5...10, using: &random)
            let index = Int.random(in: set.indices, using: &random)
            let changed = set.replacingWeight(at: index, by: set[index].weight + 3)
            let before = Balance.fourTuple.slotTable(for: set, capacity: 64)
            let after = Balance.fourTuple.slotTable(for: changed, capacity: 64)
            let moved = zip(before.slots, after.slots).filter { $0 != $1 }.count
            let needed = changed.shares[index] - set.shares[index]
            #expect(moved > 0)
            #expect(
                Double(moved) / Double(before.slots.count) <= needed + 0.03,
                "\(moved) of \(before.slots.count) for \(needed)")
        }
    }

    @Test("two receivers at one address, told apart by port or zone, share fairly")
    func oneAddress() throws {
        let set = try ["[fe80::1%eth0]:53", "[fe80::1%eth1]:53", "[fe80::1%eth0]:54"].map {
            Downstream(name: $0, endpoint: try Endpoint(parsing: $0))
        }
        let shares = Balance.sourceIP.slotTable(for: set, capacity: 64).shares(of: 3)
        #expect(shares.allSatisfy { abs($0 - 1.0 / 3) < 0.01 })
    }

    @Test("a full table of 1024 receivers is built in bounded time")
    func buildTime() {
        var random = SplitMix64(seed: 1)
        let set = DownstreamSet.random(1024, using: &random)
        let time = ContinuousClock().measure {
            #expect(!Balance.sourceIP.slotTable(for: set, capacity: 1024).slots.isEmpty)
        }
        // A tenth of a second when optimised; the limit is for debug builds on a busy machine.
        #expect(time < .seconds(20))
    }
}
