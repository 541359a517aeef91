// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import ReusePortLB
import Testing

extension ReusePortTests {
    @Suite("UDP groups")
    struct UDPTests {}
}

extension ReusePortTests.UDPTests {
    /// Three members, sources by the dozen, four datagrams each.
    static func checkSources(_ sources: [IPAddress], on address: IPAddress) throws {
        let group = try Place().group(count: 3, seed: 7)
        let members = try Members(group, count: 3, on: try .free(on: address))
        try Spray(to: members.endpoint).send(from: sources, each: 4)
        let arrivals = try members.arrivals()
        let prediction = Prediction(count: 3, seed: 7)
        for source in sources {
            let home = try #require(prediction.slot(of: source))
            #expect(arrivals[source] == [home: 4], "\(source)")
        }
        #expect(Set(arrivals.values.flatMap(\.keys)) == [0, 1, 2])
        // The program ran for each of them: the kernel's own choice counts nothing.
        #expect(try Sums(group) == Sums(selected: UInt64(sources.count * 4)))
    }

    @Test("IPv4: each source meets the member that the table of every plane names, by the program")
    func v4() throws {
        try Self.checkSources(IPAddress.v4Sources(48), on: .loopback)
    }

    @Test("IPv6: each source meets the member that the table of every plane names, by the program")
    func v6() async throws {
        try await withV6Sources {
            try Self.checkSources(
                IPAddress.v6Sources(48), on: IPAddress(high: 0xfd00_0000_0000_0000, low: 1))
        }
    }

    @Test("a member on [::] meets IPv4 sources as members on 0.0.0.0 would")
    func dualStack() throws {
        try Self.checkSources(IPAddress.v4Sources(48).map { $0 }, on: .any)
    }

    /// What a failure has to leave alone, and what becomes of the rest.
    private static func checkFailover(_ end: (Members) throws -> Void) throws {
        let group = try Place().group(count: 3)
        let members = try Members(group, count: 3, on: try .free())
        let sources = IPAddress.v4Sources(300)
        let spray = try Spray(to: members.endpoint)
        try spray.send(from: sources)
        let before = try members.homes()
        let orphans = before.filter { $0.value == 1 }.count
        #expect(orphans > 50)

        try end(members)
        try spray.send(from: sources)
        let during = try members.homes()
        for source in sources {
            if before[source] == 1 {
                #expect([0, 2].contains(during[source]), "\(source) met \(during[source] ?? -1)")
            } else {
                #expect(during[source] == before[source], "\(source)")
            }
        }
        // The orphans are shared out, not heaped on one.
        let heirs = sources.filter { before[$0] == 1 }.map { during[$0] }
        #expect(heirs.count { $0 == 0 } > orphans / 4 && heirs.count { $0 == 2 } > orphans / 4)
        #expect(try group.counters(slot: 1).missed == UInt64(orphans))
        #expect(
            try Sums(group)
                == Sums(
                    selected: UInt64(600 - orphans), fallback: UInt64(orphans),
                    missed: UInt64(orphans)))

        try members.join(group, 1)
        try spray.send(from: sources)
        #expect(try members.homes() == before)
    }

    @Test("a member that leaves is stood in for, nobody else's source moves, and all return with it")
    func leaving() throws {
        try Self.checkFailover { try $0.leave(1) }
    }

    @Test("a member whose socket closes is stood in for, and its sources return with it")
    func dying() throws {
        try Self.checkFailover { $0.die(1) }
    }

    @Test("a seventh of the members stays when six die at once: every source goes to it")
    func oneIsLeft() throws {
        let group = try Place().group(count: 7)
        let members = try Members(group, count: 7, on: try .free())
        for slot in 0..<6 { members.die(slot) }
        let sources = IPAddress.v4Sources(200)
        try Spray(to: members.endpoint).send(from: sources)
        #expect(try members.homes() == Dictionary(uniqueKeysWithValues: sources.map { ($0, 6) }))
        #expect(try Sums(group).left == 0)
    }

    @Test("with nobody in a slot the kernel chooses, and the group counts it")
    func nobody() throws {
        let group = try Place().group(count: 2)
        let members = try Members(group, count: 2, on: try .free())
        try members.leave(0)
        try members.leave(1)
        try Spray(to: members.endpoint).send(from: IPAddress.v4Sources(20))
        #expect(try members.arrivals().count == 20)
        #expect(try Sums(group) == Sums(missed: 20, left: 20))
    }

    @Test("a fourth of 4096 sources moves when three members become four, and to the fourth")
    func resize() throws {
        let place = try Place()
        let group = try place.group(count: 3)
        let members = try Members(group, count: 3, on: try .free())
        let sources = IPAddress.v4Sources(4096)
        let spray = try Spray(to: members.endpoint)
        try spray.send(from: sources)
        let before = try members.homes()
        #expect(before.count == 4096)
        // The fourth opens the group with the new count, as its process would.
        try members.join(try place.group(count: 4), 3)
        #expect(try group.info().count == 4)
        try spray.send(from: sources)
        let after = try members.homes()
        #expect(after.count == 4096)
        let moved = sources.filter { before[$0] != after[$0] }
        let between = moved.filter { after[$0] != 3 }
        #expect(moved.count <= 4096 * 30 / 100, "\(moved.count) moved")
        #expect(moved.count - between.count >= 4096 * 23 / 100)
        // Survivors exchange no more than the tables of the other planes do (2 %).
        #expect(between.count <= 4096 * 2 / 100, "\(between.count) moved between survivors")
    }

    @Test("10 000 IPv4 sources: each of four members has its share within 5 per cent")
    func shares4() throws {
        try Self.checkShares(IPAddress.v4Sources(10_000), on: .loopback)
    }

    @Test("10 000 IPv6 sources: each of four members has its share within 5 per cent")
    func shares6() async throws {
        try await withV6Sources {
            try Self.checkShares(
                IPAddress.v6Sources(10_000), on: IPAddress(high: 0xfd00_0000_0000_0000, low: 1))
        }
    }

    private static func checkShares(_ sources: [IPAddress], on address: IPAddress) throws {
        let group = try Place().group(count: 4)
        let members = try Members(group, count: 4, on: try .free(on: address))
        try Spray(to: members.endpoint).send(from: sources)
        let homes = try members.homes()
        #expect(homes.count == sources.count)
        for slot in 0..<4 {
            let share = homes.values.count { $0 == slot }
            #expect(abs(share - sources.count / 4) <= sources.count / 80, "\(slot): \(share)")
        }
    }

    @Test(
        "round_robin and random use every member evenly; a four-tuple keeps a flow, not a source",
        arguments: ReusePortGroup.Key.allCases)
    func keys(key: ReusePortGroup.Key) throws {
        let group = try Place().group(count: 4, key: key)
        let members = try Members(group, count: 4, on: try .free())
        let flows = try (0..<40).map { _ in try Traffic(to: members.endpoint) }
        for flow in flows { for _ in 0..<25 { flow.send([1]) } }
        let counts = try (0..<4).map { try group.counters(slot: $0).selected }
        #expect(counts.reduce(0, +) == 1000)
        let met = try members.arrivals()[.loopback]?.count
        switch key {
        case .sourceIP: #expect(met == 1)
        case .fourTuple:
            #expect(met == 4)
            // All 25 of a flow met one member.
            for count in counts { #expect(count % 25 == 0) }
        case .roundRobin, .random:
            for count in counts { #expect(abs(Int(count) - 250) < 100, "\(counts)") }
        }
    }
}
