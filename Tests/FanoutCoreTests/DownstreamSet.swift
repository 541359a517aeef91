// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import GoldenVectors

/// Sets of receivers for tests of slot tables, the same on every run.
enum DownstreamSet {
    /// `count` receivers in 10.0.0.0/16, as a cluster has them, in no order.
    static func random(
        _ count: Int, weights: ClosedRange<UInt16> = 1...1, using random: inout SplitMix64
    ) -> [Downstream] {
        var hosts: Set<UInt32> = []
        while hosts.count < count { hosts.insert(UInt32(random.next() % 65_536)) }
        return hosts.sorted().shuffled(using: &random).map { host in
            Downstream(
                name: "d\(host)", endpoint: Endpoint(IPAddress(v4: 0x0a00_0000 | host), port: 514),
                weight: UInt16.random(in: weights, using: &random))
        }
    }

    /// One receiver for each weight, their endpoints in the order of the weights.
    static func weighted(_ weights: [UInt16]) -> [Downstream] {
        weights.enumerated().map { index, weight in
            Downstream(
                name: "d\(index)", endpoint: Endpoint(IPAddress(v4: UInt32(index + 1)), port: 514),
                weight: weight)
        }
    }
}

extension [Downstream] {
    /// The share of all weights that each has.
    var shares: [Double] {
        let total = reduce(0.0) { $0 + Double($1.weight) }
        return map { Double($0.weight) / total }
    }

    func replacingWeight(at index: Int, by weight: UInt16) -> [Downstream] {
        var copy = self
        copy[index] = Downstream(
            name: self[index].name, endpoint: self[index].endpoint, weight: weight)
        return copy
    }
}

extension SlotTable {
    /// The share of the slots that each of `count` downstreams has. Keys are uniform over 32 bits, so
    /// to within 1 in 30 000 it is the share of the keys as well.
    func shares(of count: Int) -> [Double] {
        var owned = [Int](repeating: 0, count: count)
        for slot in slots { owned[Int(slot)] += 1 }
        return owned.map { Double($0) / Double(slots.count) }
    }

    /// The owner of each slot by endpoint, which means the same under every order of the config.
    func owners(among downstreams: [Downstream]) -> [Endpoint] {
        slots.map { downstreams[Int($0)].endpoint }
    }
}

extension Balance {
    /// Those whose key is a hash.
    static let hashed: [Balance] = [.sourceIP, .fourTuple, .payload]

    /// One for each way to build a table; the others share them (`SlotTableTests.builders`).
    static let builders: [Balance] = [.roundRobin, .sourceIP]
}
