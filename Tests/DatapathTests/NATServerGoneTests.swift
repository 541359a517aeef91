// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

/// A removed server has a new generation: every reference to the old one is invalid at once.
@Suite("Servers that leave xdp_nat", .tags(.network), .loadsPrograms, .takesNAT)
struct NATServerGoneTests {
    static let families = [IPAddress.Family.v4, .v6]

    @Test(
        "clients of a removed server get another with their next packet", arguments: families)
    func remade(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        try onOneCPU { () throws in
            for client in 0..<30 { try lab.request(client) }
            try lab.fixture.remove(0)
            var moved: [Endpoint: Int] = [:]
            for client in 0..<30 {
                let server = try #require(try lab.request(client))
                if client % 3 == 0 {
                    moved[server, default: 0] += 1
                } else {
                    #expect(try server == lab.server(client % 3))
                }
                #expect(try lab.request(client) == server)
            }
            #expect(try moved == [lab.server(1): 5, lab.server(2): 5])
        }
        #expect(try lab.fixture.counts(0, .ingress)[LB_NAT_INGRESS_NEW_NAT] == 40)
        #expect(lab.fixture.count(in: family == .v4 ? "unanswered4" : "unanswered6") == 30)
    }

    @Test("an answered client stays answered, with its new server", arguments: families)
    func remadeAnswered(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        try onOneCPU { () throws in
            try lab.request(0)
            try lab.answer(0, to: 0)
            try lab.fixture.remove(0)
            let server = try #require(try lab.request(0))
            let expected = NATFixture.Association(server: server, isAnswered: true, isAlive: true)
            #expect(try lab.association(0) == expected)
        }
    }

    @Test("another server may send to a client of a removed server", arguments: families)
    func speaks(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        try lab.request(0)
        try lab.fixture.remove(0)
        #expect(try lab.answer(2, to: 0) == lab.service)
        #expect(try lab.fixture.counts(0, .egress)[LB_NAT_EGRESS_NEW_NAT] == 1)
        #expect(try lab.request(0) == lab.server(2))
        #expect(try lab.answer(1, to: 0) == nil)
    }

    @Test("a removed server's packets no longer leave as the service's", arguments: families)
    func gone(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        try lab.request(0)
        try lab.fixture.remove(0)
        let packet = try Datagram(from: "\(lab.server(0))", to: "\(lab.client(0))")
        #expect(try lab.fixture.run(packet) == .init(verdict: .pass, output: packet.frame))
    }

    @Test("a server that is added again has none of its old clients")
    func back() throws {
        let lab = try NATLab(.v4)
        try lab.request(0)
        try lab.fixture.remove(0)
        try lab.fixture.revive(0)
        #expect(try lab.association(0)?.isAlive == false)
        try lab.fixture.fill(0, .roundRobin, [1])
        #expect(try lab.request(0) == lab.server(1))
        #expect(try lab.answer(0, to: 0) == nil)
    }

    @Test("a server without slots keeps its clients")
    func draining() throws {
        let lab = try NATLab(.v4)
        try onOneCPU { for client in 0..<6 { try lab.request(client) } }
        try lab.fixture.fill(0, .roundRobin, [1, 2])
        try onOneCPU { () throws in
            for client in 0..<6 { #expect(try lab.request(client) == lab.server(client % 3)) }
            for client in 6..<12 { #expect(try lab.request(client) != lab.server(0)) }
        }
    }

    @Test("without servers, requests are dropped")
    func allGone() throws {
        let lab = try NATLab(.v4)
        try lab.request(0)
        for number in 0..<3 { try lab.fixture.remove(number) }
        #expect(try lab.request(0) == nil)
        #expect(try lab.request(1) == nil)
        let counts = try lab.fixture.counts(0, .ingress)
        #expect(counts.common[.noHealthy] == 2 && counts.common.isBalanced)
    }
}
