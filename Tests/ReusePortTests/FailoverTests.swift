// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import ReusePortLB
import Testing

extension ReusePortTests {
    @Suite("Failover")
    struct FailoverTests {}
}

extension ReusePortTests.FailoverTests {
    /// Checks which sources move when a member ends by `end`, and where they go.
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
                #expect(
                    [0, 2].contains(during[source]), "\(source) reached \(during[source] ?? -1)")
            } else {
                #expect(during[source] == before[source], "\(source)")
            }
        }
        // Several members share the dead member's sources.
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

    @Test(
        "a fallback replaces a member that leaves; no other source moves, and all return with it")
    func leaving() throws {
        try Self.checkFailover { try $0.leave(1) }
    }

    @Test("a fallback replaces a member whose socket closes; its sources return with it")
    func dying() throws {
        try Self.checkFailover { $0.die(1) }
    }

    @Test("when six of seven members die at once, every source goes to the seventh")
    func oneIsLeft() throws {
        let group = try Place().group(count: 7)
        let members = try Members(group, count: 7, on: try .free())
        for slot in 0..<6 { members.die(slot) }
        let sources = IPAddress.v4Sources(200)
        try Spray(to: members.endpoint).send(from: sources)
        #expect(try members.homes() == Dictionary(uniqueKeysWithValues: sources.map { ($0, 6) }))
        #expect(try Sums(group).left == 0)
    }

    @Test("when all slots are empty the kernel chooses, and the group counts it")
    func noMember() throws {
        let group = try Place().group(count: 2)
        let members = try Members(group, count: 2, on: try .free())
        try members.leave(0)
        try members.leave(1)
        try Spray(to: members.endpoint).send(from: IPAddress.v4Sources(20))
        #expect(try members.arrivals().count == 20)
        #expect(try Sums(group) == Sums(missed: 20, left: 20))
    }

    @Test("the group outlives its members: when they start again, they get their old sources")
    func allDie() throws {
        let place = try Place()
        let sources = IPAddress.v4Sources(200)
        let endpoint = try Endpoint.free()
        func lifetime() throws -> [IPAddress: Int] {
            let group = try place.group(count: 3)
            let members = try Members(group, count: 3, on: endpoint)
            try Spray(to: endpoint).send(from: sources)
            defer { for slot in 0..<3 { members.die(slot) } }
            return try members.homes()
        }
        let first = try lifetime()
        #expect(first.count == 200 && Set(first.values) == [0, 1, 2])
        #expect(try lifetime() == first)
        #expect(try Sums(place.group()) == Sums(selected: 400))
    }

    @Test("after the pins of live members are removed, a restarted one joins them; no source moves")
    func pinsRemoved() throws {
        let place = try Place()
        let group = try place.group(count: 3)
        let members = try Members(group, count: 3, on: try .free())
        let sources = IPAddress.v4Sources(200)
        let spray = try Spray(to: members.endpoint)
        try spray.send(from: sources)
        let before = try members.homes()
        #expect(Set(before.values) == [0, 1, 2])

        try FileManager.default.removeItem(atPath: "\(place.pins.path)/g")
        members.die(1)
        let again = try place.group(count: 3)
        try members.join(again, 1)
        try spray.send(from: sources)
        #expect(try members.homes() == before)
        #expect(try again.members().count == 3)
        // The counters of the live group, through its new pins.
        #expect(try Sums(again) == Sums(selected: 400))
        #expect(try Sums(place.group()) == Sums(selected: 400))
        try members.leave(0)
    }
}
