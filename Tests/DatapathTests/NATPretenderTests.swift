// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

/// Any host can send packets with a server's address as their source.
@Suite("Packets from a server's address in xdp_nat", .tags(.network), .loadsPrograms, .takesNAT)
struct NATPretenderTests {
    static let families = [IPAddress.Family.v4, .v6]

    @Test(
        "by another interface than the server's they pass untouched and make no association",
        arguments: families)
    func otherInterface(family: IPAddress.Family) throws {
        let lab = try NATLab(family, .init(from: 77))
        try lab.request(0)
        for client in 0..<5 {
            let packet = try Datagram(from: "\(lab.server(0))", to: "\(lab.client(client))")
            #expect(try lab.fixture.run(packet) == .init(verdict: .pass, output: packet.frame))
        }
        var fragment = try Datagram(from: "\(lab.server(0))", to: "\(lab.client(0))")
        for range in [0..<16, 16..<39] {
            fragment.fragment = .init(
                identification: 3, range: range, isLast: range.upperBound == 39)
            #expect(
                try lab.fixture.run(fragment) == .init(verdict: .pass, output: fragment.frame))
        }
        #expect(try lab.association(0)?.isAnswered == false)
        #expect(try lab.association(1) == nil)
        #expect(try lab.fixture.noListener()[LB_NAT_EGRESS_WRONG_INTERFACE] == 6)
        #expect(try lab.fixture.counts(0, .egress).events == 0)
    }

    @Test("a spoofed packet cannot use an answered association", arguments: families)
    func known(family: IPAddress.Family) throws {
        let lab = try NATLab(family, .init(from: 77))
        try lab.fixture.hook(77)
        try lab.fixture.unhook(place: NATFixture.loopback)
        try lab.request(0)
        try lab.answer(0, to: 0)
        #expect(try lab.association(0)?.isAnswered == true)
        try lab.fixture.hook(NATFixture.loopback)
        let packet = try Datagram(from: "\(lab.server(0))", to: "\(lab.client(0))")
        #expect(try lab.fixture.run(packet) == .init(verdict: .pass, output: packet.frame))
        #expect(try lab.fixture.noListener()[LB_NAT_EGRESS_WRONG_INTERFACE] == 1)
    }

    @Test(
        "all packets that come by the server's own interface are the server's",
        arguments: families)
    func ownInterface(family: IPAddress.Family) throws {
        let lab = try NATLab(family, .init(associations: 1024, from: NATFixture.loopback))
        #expect(try lab.answer(2, to: 0) == lab.service)
        #expect(try lab.request(0) == lab.server(2))
        for client in 1..<500 { #expect(try lab.answer(0, to: client) == lab.service) }
        #expect(try lab.fixture.counts(0, .egress)[LB_NAT_EGRESS_NEW_NAT] == 500)
    }

    @Test(
        "where clients and servers share an interface, 6000 of them evict no client",
        arguments: families)
    func flood(family: IPAddress.Family) throws {
        let (room, clients) = (1024, 100)
        let lab = try NATLab(family, .init(associations: room))
        let map = family == .v4 ? "associations4" : "associations6"
        for client in 0..<clients {
            let server = try #require(try lab.request(client))
            let packet = try Datagram(from: "\(server)", to: "\(lab.client(client))")
            try lab.fixture.run(packet)
        }
        #expect(lab.fixture.count(in: map) == clients)
        for other in 0..<6000 {
            // Nothing is dropped: a server that does send first is associated.
            #expect(try lab.answer(other % 3, to: 1000 + other) == lab.service)
        }
        // A sixteenth of the capacity at once; more may come in later, since the test takes a while.
        let begun = lab.fixture.count(in: map) - clients
        #expect(begun >= room / 16 && begun < room / 2, "\(begun)")
        for client in 0..<clients { #expect(try lab.association(client)?.isAnswered == true) }
        let counts = try lab.fixture.counts(0, .egress)
        #expect(counts[LB_NAT_EGRESS_NEW_NAT] == UInt64(begun))
        #expect(counts[LB_NAT_EGRESS_STATELESS_NAT] == UInt64(6000 - begun))
        #expect(counts.common.forwarded == 6100 && counts.common.isBalanced)
    }
}
