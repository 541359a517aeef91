// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import ReusePortLB
import Testing

extension ReusePortTests {
    @Suite("Resizing")
    struct ResizeTests {}
}

extension ReusePortTests.ResizeTests {
    @Test("when three members become four, a fourth of 4096 sources moves to the fourth")
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
        // The other members exchange no more than in the tables of the other planes (2 %).
        #expect(between.count <= 4096 * 2 / 100, "\(between.count) moved between survivors")
    }

    @Test("a group that remembers flows moves none of them, and gives new ones to the fourth")
    func remembered() throws {
        let place = try Place()
        let group = try ReusePortGroup("g", place.options(count: 3, flows: 100_000))
        let members = try Members(group, count: 3, on: try .free())
        let sources = IPAddress.v4Sources(4096)
        let (known, new) = (sources.prefix(2048), sources.suffix(2048))
        let spray = try Spray(to: members.endpoint)
        try spray.send(from: Array(known))
        let before = try members.homes()
        #expect(try group.flowsMissed() == 2048)
        try members.join(try place.group(count: 4), 3)
        try spray.send(from: sources)
        let after = try members.homes()
        #expect(known.allSatisfy { before[$0] == after[$0] })
        #expect(new.count { after[$0] == 3 } >= 2048 * 23 / 100)
        #expect(try group.flowsMissed() == 4096)
        let info = try group.info()
        #expect(info.flows == 100_000 && info.capacity == ReusePortGroup.defaultCapacity)
    }

    @Test("a lower count is refused while a member has a slot above it, and accepted afterwards")
    func lower() throws {
        let place = try Place()
        let group = try place.group(count: 3)
        let members = try Members(group, count: 3, on: try .free())
        #expect(throws: ReusePortError.self) { try group.resize(count: 2) }
        #expect(try group.info().count == 3)
        members.die(2)
        try group.resize(count: 2)
        let sources = IPAddress.v4Sources(100)
        try Spray(to: members.endpoint).send(from: sources)
        let prediction = Prediction(count: 2)
        let homes = try members.homes()
        for source in sources { #expect(homes[source] == prediction.slot(of: source)) }
    }
}
