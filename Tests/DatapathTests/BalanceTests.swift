// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import GoldenVectors
import Testing
import Tiers

@Suite("How tc_fanout balances", .tags(.network), .loadsPrograms, .takesFanout)
struct BalanceTests {
    @Test("round robin takes the receivers in the order of the table, exactly evenly")
    func roundRobin() throws {
        let fixture = try TCFixture.withBothFamilies()
        let table = Balance.roundRobin.slotTable(
            for: try Receiver.three(.v4).map(\.downstream), capacity: 8)
        let order = try onOneCPU {
            try (0..<300).map { _ in
                try destination(of: fixture.run(PacketCase.datagram(.v4)))
            }
        }
        let expected = try (0..<300).map { turn in
            try Receiver.three(.v4)[Int(table.slots[turn % table.slots.count])].endpoint.address
        }
        #expect(order == expected)
        for row in 0..<3 {
            #expect(try fixture.receiverCounts(UInt32(row)).forwarded == 100)
        }
    }

    @Test("weights 5, 1 and 1 give five sevenths and one each, and weight 0 nothing")
    func weights() throws {
        let fixture = try TCFixture()
        try fixture.serve(Endpoint(parsing: TCFixture.service4))
        let weights: [UInt16] = [1, 5, 0, 1]
        try fixture.fill(
            .roundRobin,
            weights.enumerated().map { try Receiver("10.1.0.\($0 + 1):5140", weight: $1) })
        try onOneCPU {
            for _ in 0..<700 { _ = try fixture.run(PacketCase.datagram(.v4)) }
        }
        let counts = try (0..<4).map { try fixture.receiverCounts($0).forwarded }
        #expect(counts == [100, 500, 0, 100])
    }

    @Test("random spreads by weight")
    func random() throws {
        let fixture = try TCFixture.withBothFamilies(.random)
        for _ in 0..<3000 { _ = try fixture.run(PacketCase.datagram(.v4)) }
        for row in 0..<3 {
            // Six standard deviations of a fair choice (25.8).
            #expect(try (845...1155).contains(fixture.receiverCounts(UInt32(row)).forwarded))
        }
    }

    @Test(
        "10 000 sources get the receiver that the slot table of userspace mode assigns",
        arguments: [Balance.sourceIP, .fourTuple], [IPAddress.Family.v4, .v6])
    func owners(balance: Balance, family: IPAddress.Family) throws {
        let seed: UInt64 = 0x5eed
        let fixture = try TCFixture()
        let service = try Endpoint(parsing: family == .v4 ? TCFixture.service4 : TCFixture.service6)
        let receivers = try (1...7).map {
            try Receiver(
                family == .v4 ? "10.1.0.\($0):514" : "[2001:db8:51::\($0)]:514", weight: UInt16($0))
        }
        try fixture.serve(service)
        try fixture.fill(balance, receivers, seed: seed)
        let table = balance.slotTable(for: receivers.map(\.downstream), capacity: 8)
        var random = SplitMix64(seed: 11)
        var different = 0
        for _ in 0..<10_000 {
            let source = clientEndpoint(family, &random)
            var packet = try PacketCase.datagram(family)
            packet.source = source
            packet.payload = []
            let key =
                balance == .sourceIP
                ? FlowKey.sourceIP(source.address, seed: seed)
                : FlowKey.fourTuple(source: source, destination: service, seed: seed)
            let owner = try #require(table.owner(of: key))
            let met = try destination(of: fixture.run(packet))
            if met != receivers[owner].endpoint.address { different += 1 }
        }
        #expect(different == 0)
        #expect(try fixture.listenerCounts().forwarded == 10_000)
    }

    @Test("every golden payload goes to the owner of its key, whatever padding is behind it")
    func payloads() throws {
        let fixture = try TCFixture()
        let service = try Endpoint(parsing: TCFixture.service4)
        let receivers = try (1...7).map { try Receiver("10.1.0.\($0):514") }
        try fixture.serve(service)
        let table = Balance.payload.slotTable(for: receivers.map(\.downstream), capacity: 8)
        for vector in PayloadVector.all {
            let key = try #require(PayloadKey(vector.spec))
            try fixture.fill(.payload, receivers, seed: vector.seed, payload: key)
            var packet = try PacketCase.datagram(.v4)
            packet.source = try Endpoint(parsing: "192.0.2.9:4000")
            packet.payload = try #require([UInt8](hexadecimal: vector.payload))
            let hash = FlowKey.payload(
                packet.payload, key, source: packet.source, destination: service, seed: vector.seed)
            let owner = try #require(table.owner(of: hash))
            for padding in [0, 30] {
                let frame = packet.frame + [UInt8](repeating: 0xa5, count: padding)
                let outcome = try fixture.run(frame)
                #expect(
                    try destination(of: outcome) == receivers[owner].endpoint.address, "\(vector)")
            }
        }
    }

    @Test("a table of the largest size is read to its end")
    func largest() throws {
        let fixture = try TCFixture(
            receiversMax: Int(LB_DOWNSTREAMS_MAX), slotsMax: Int(LB_SLOTS_MAX))
        try fixture.serve(Endpoint(parsing: TCFixture.service4))
        try fixture.fill(
            .roundRobin,
            (0..<1024).map { try Receiver("10.1.\($0 / 256).\($0 % 256):514") }.suffix(8))
        let last = try (0..<8).map { _ in try destination(of: fixture.run(PacketCase.datagram(.v4)))
        }
        #expect(try last.contains(.parsed("10.1.3.255")))
    }

    /// A source address that hosts accept, on any port.
    private func clientEndpoint(_ family: IPAddress.Family, _ random: inout SplitMix64) -> Endpoint
    {
        let port = UInt16.random(in: 1...UInt16.max, using: &random)
        if family == .v6 {
            let high = 0x2000_0000_0000_0000 | random.word() >> 3
            return Endpoint(IPAddress(high: high, low: random.word()), port: port)
        }
        let first = UInt32.random(in: 1...126, using: &random)
        return Endpoint(
            IPAddress(v4: first << 24 | UInt32(truncatingIfNeeded: random.next() & 0xff_ffff)),
            port: port)
    }

    private func destination(of outcome: TCFixture.Outcome) throws -> IPAddress {
        try #require(outcome.verdict == .redirected)
        let isV6 = outcome.output[12] == 0x86
        let bytes = outcome.output[isV6 ? 38..<54 : 30..<34]
        let words = bytes.reduce((high: UInt64(0), low: UInt64(0))) { words, byte in
            (words.high << 8 | words.low >> 56, words.low << 8 | UInt64(byte))
        }
        return isV6
            ? IPAddress(high: words.high, low: words.low)
            : IPAddress(v4: UInt32(truncatingIfNeeded: words.low))
    }
}
