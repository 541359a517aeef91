// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import GoldenVectors
import Testing
import Tiers

@Suite("Slot tables", .tags(.unit))
struct SlotTableTests {
    @Test("a key goes to the owner of slot key mod n")
    func owner() {
        let table = SlotTable(slots: [7, 8, 9])
        #expect([0, 1, 2, 3, UInt32.max].map { table.owner(of: $0) } == [7, 8, 9, 7, 7])
    }

    @Test(
        "without a ready receiver the table is empty and no key has an owner",
        arguments: Balance.allCases)
    func noReceiver(_ balance: Balance) {
        for weights in [[], [0], [0, 0, 0]] as [[UInt16]] {
            let table = balance.slotTable(for: DownstreamSet.weighted(weights), capacity: 64)
            #expect(table == .empty)
            #expect(table.owner(of: 0) == nil)
        }
    }

    @Test("a single receiver owns every slot", arguments: Balance.allCases)
    func single(_ balance: Balance) {
        let table = balance.slotTable(for: DownstreamSet.weighted([0, 65_535]), capacity: 2)
        #expect(!table.slots.isEmpty && table.slots.allSatisfy { $0 == 1 })
    }

    @Test("random has round robin's table, four_tuple and payload that of source_ip")
    func builders() {
        let set = DownstreamSet.weighted([3, 2, 1])
        let tables = Balance.allCases.map { $0.slotTable(for: set, capacity: 64) }
        #expect(tables[0] == tables[1] && tables[2] == tables[3] && tables[0] != tables[2])
        #expect(Balance.payload.slotTable(for: set, capacity: 64) == tables[2])
        #expect(Balance.allCases == [.roundRobin, .random, .sourceIP, .fourTuple, .payload])
    }

    @Test("each balance looks up its own key")
    func keySources() {
        #expect(Balance.roundRobin.keySource == .counter)
        #expect(Balance.random.keySource == .randomNumber)
        #expect(Balance.sourceIP.keySource == .sourceAddress)
        #expect(Balance.fourTuple.keySource == .fourTuple)
        #expect(Balance.payload.keySource == .payload)
    }

    @Test(
        "every ready receiver has its share to one per cent, a draining one nothing",
        arguments: Balance.builders, 0..<6)
    func shares(_ balance: Balance, seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let ranges: [ClosedRange<UInt16>] = [1...1, 0...3, 0...100, 1...1000, 0...65_535]
        for range in ranges {
            let count = Int.random(in: 2...64, using: &random)
            let set = DownstreamSet.random(count, weights: range, using: &random)
                .replacingWeight(at: 0, by: 1)
            expectFair(balance.slotTable(for: set, capacity: 64), set)
        }
    }

    @Test("shares hold for hundreds of receivers too", arguments: Balance.builders, [300, 1024])
    func manyShares(_ balance: Balance, count: Int) {
        var random = SplitMix64(seed: UInt64(count))
        let set = DownstreamSet.random(count, weights: 0...65_535, using: &random)
        expectFair(balance.slotTable(for: set, capacity: 1024), set)
    }

    @Test("one heavy receiver among 1023 light ones has its share", arguments: Balance.builders)
    func lopsided(_ balance: Balance) {
        let set = DownstreamSet.weighted([65_535] + Array(repeating: 1, count: 1023))
        expectFair(balance.slotTable(for: set, capacity: 1024), set)
    }

    private func expectFair(
        _ table: SlotTable, _ set: [Downstream], at location: SourceLocation = #_sourceLocation
    ) {
        #expect(table.slots.allSatisfy { Int($0) < set.count }, sourceLocation: location)
        let unfair = zip(set, zip(table.shares(of: set.count), set.shares)).filter { entry in
            let (downstream, (actual, wanted)) = entry
            return abs(actual - wanted) > 0.01 || (actual > 0) != (downstream.weight > 0)
        }
        let list = unfair.map { "\($0.name): \($1.0) for \($1.1)" }
        #expect(list == [], "of \(set.count)", sourceLocation: location)
    }

    @Test("real keys spread as the weights say", arguments: Balance.allCases)
    func keys(_ balance: Balance) {
        let set = DownstreamSet.weighted([5, 3, 1, 1])
        let table = balance.slotTable(for: set, capacity: 64)
        var random = SplitMix64(seed: 3)
        var hits = [Double](repeating: 0, count: set.count)
        let rounds = 100_000
        for round in 0..<rounds {
            let key: UInt32 =
                switch balance.keySource {
                case .counter: UInt32(round)
                case .randomNumber: UInt32(truncatingIfNeeded: random.next())
                case .sourceAddress: FlowKey.sourceIP(IPAddress(v4: UInt32(round)))
                case .fourTuple:
                    FlowKey.fourTuple(source: random.endpoint(), destination: set[0].endpoint)
                case .payload:
                    FlowKey.payload(
                        [UInt8(round & 0xff), UInt8(round >> 8 & 0xff), UInt8(round >> 16)],
                        PayloadKey(length: 3), source: set[0].endpoint,
                        destination: set[0].endpoint)
                }
            if let owner = table.owner(of: key) { hits[owner] += 1 }
        }
        for (hit, share) in zip(hits, set.shares) {
            #expect(abs(hit / Double(rounds) - share) <= 0.01)
        }
    }

    @Test("the order of the config does not matter", arguments: Balance.allCases, 0..<4)
    func order(_ balance: Balance, seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let set = DownstreamSet.random(20, weights: 0...9, using: &random)
        let shuffled = set.shuffled(using: &random)
        #expect(set != shuffled)
        let one = balance.slotTable(for: set, capacity: 64).owners(among: set)
        #expect(one == balance.slotTable(for: shuffled, capacity: 64).owners(among: shuffled))
    }

    @Test(
        "the size of a hash-keyed table does not depend on who is ready", arguments: Balance.hashed)
    func size(_ balance: Balance) {
        for capacity in [1, 64, 128, 129, 500, 1024] {
            let sizes = [1, 2, 50].map { ready in
                let weights = (0..<64).map { UInt16($0 < ready ? 1 : 0) }
                let set = DownstreamSet.weighted(Array(weights.prefix(capacity)))
                return balance.slotTable(for: set, capacity: capacity).slots.count
            }
            #expect(Set(sizes) == [MaglevTable.size(capacity: capacity)])
        }
    }

    @Test("every table fits the longest that the kernel programs have room for")
    func bounds() {
        #expect(MaglevTable.size(capacity: 1) == Int(LB_SLOTS_MIN))
        #expect(MaglevTable.size(capacity: Int(LB_DOWNSTREAMS_MAX)) == Int(LB_SLOTS_MAX))
        let full = DownstreamSet.weighted((1...1024).map { UInt16($0 * 63) })
        for balance in Balance.builders {
            let slots = balance.slotTable(for: full, capacity: 1024).slots
            #expect(slots.count <= Int(LB_SLOTS_MAX))
        }
    }
}
