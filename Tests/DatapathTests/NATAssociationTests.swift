// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

@Suite("Associations in xdp_nat", .tags(.network), .loadsPrograms, .takesNAT)
struct NATAssociationTests {
    static let families = [IPAddress.Family.v4, .v6]

    @Test("a new client gets the owner of its slot, and keeps it", arguments: families)
    func kept(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        try onOneCPU { () throws in
            for client in 0..<6 {
                for _ in 0..<4 {
                    #expect(try lab.request(client) == lab.server(client % 3))
                }
            }
        }
        let counts = try lab.fixture.counts(0, .ingress)
        #expect(counts[LB_NAT_INGRESS_NEW_NAT] == 6 && counts[LB_NAT_INGRESS_REUSED_NAT] == 18)
        #expect(counts.common.received == 24 && counts.common.isBalanced)
        for number in 0..<3 {
            #expect(try lab.fixture.serverCounts(number, .ingress).forwarded == 8)
        }
    }

    @Test("round robin over several CPUs is the same as on one", arguments: families)
    func turns(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        for client in 0..<12 {
            let server = try onOneCPU(last: client % 2 == 0) { try lab.request(client) }
            #expect(try server == lab.server(client % 3))
        }
    }

    @Test("a client is an address and a port", arguments: families)
    func ports(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        try onOneCPU { () throws in
            let client = try lab.client(0)
            let other = Endpoint(client.address, port: client.port + 1)
            #expect(try lab.request(from: client) == lab.server(0))
            #expect(try lab.request(from: other) == lab.server(1))
            #expect(try lab.request(from: client) == lab.server(0))
        }
    }

    @Test("replies of the associated server come from the service", arguments: families)
    func answered(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        let first = try lab.request(0)
        #expect(try first == lab.server(0))
        #expect(try lab.answer(0, to: 0) == lab.service)
        let counts = try lab.fixture.counts(0, .egress)
        #expect(counts[LB_NAT_EGRESS_REUSED_NAT] == 1 && counts.common.forwarded == 1)
    }

    @Test("another server's packet is dropped and counted as that server's", arguments: families)
    func notAuthorized(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        let first = try lab.request(0)
        #expect(try first == lab.server(0))
        #expect(try lab.answer(1, to: 0) == nil)
        #expect(try lab.answer(0, to: 0) == lab.service)
        #expect(try lab.answer(1, to: 0) == nil)
        let counts = try lab.fixture.counts(0, .egress)
        #expect(counts[LB_NAT_EGRESS_NOT_AUTHORIZED] == 2 && counts.common[.notPermitted] == 2)
        #expect(counts.common.isBalanced)
        #expect(try lab.fixture.serverCounts(1, .egress)[.notPermitted] == 2)
        #expect(try onOneCPU { try lab.request(0) } == lab.server(0))
    }

    @Test("a server that sends first is associated with the client", arguments: families)
    func serverInitiated(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        #expect(try lab.answer(2, to: 0) == lab.service)
        #expect(try lab.fixture.counts(0, .egress)[LB_NAT_EGRESS_NEW_NAT] == 1)
        #expect(try lab.association(0)?.isAnswered == true)
        #expect(try lab.request(0) == lab.server(2))
        #expect(try lab.fixture.counts(0, .ingress)[LB_NAT_INGRESS_REUSED_NAT] == 1)
        #expect(try lab.answer(1, to: 0) == nil)
    }

    @Test("the first reply moves an association to the answered ones", arguments: families)
    func promoted(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        let suffix = family == .v4 ? "4" : "6"
        try lab.request(0)
        #expect(try lab.association(0)?.isAnswered == false)
        for _ in 0..<3 { try lab.answer(0, to: 0) }
        #expect(try lab.association(0)?.isAnswered == true)
        #expect(lab.fixture.count(in: "associations" + suffix) == 1)
        #expect(lab.fixture.count(in: "unanswered" + suffix) == 0)
        #expect(try lab.fixture.counts(0, .egress)[LB_NAT_ANSWERED] == 1)
        #expect(try lab.request(0) == lab.server(0))
    }

    @Test("without a map for unanswered associations there is one map", arguments: families)
    func unwaiting(family: IPAddress.Family) throws {
        let lab = try NATLab(family, .init(waits: false))
        try lab.request(0)
        #expect(try lab.association(0)?.isAnswered == true)
        #expect(try lab.answer(0, to: 0) == lab.service)
        #expect(try lab.answer(1, to: 0) == nil)
        #expect(lab.fixture.count(in: family == .v4 ? "unanswered4" : "unanswered6") == 0)
    }

    @Test("an expired or oversize packet makes no association")
    func noAssociation() throws {
        let lab = try NATLab(.v4, .init(packetMax: 10))
        var packet = try Datagram(from: "\(lab.client(0))", to: "\(lab.service)")
        #expect(try lab.fixture.run(packet).verdict == .drop)
        packet.payload = []
        packet.timeToLive = 1
        #expect(try lab.fixture.run(packet).verdict == .drop)
        #expect(try lab.association(0) == nil)
    }

    @Test("a request is dropped while there is no server, and goes to the next one added")
    func noServer() throws {
        let lab = try NATLab(.v4)
        try lab.fixture.fill(0, .roundRobin, [])
        #expect(try lab.request(0) == nil)
        let counts = try lab.fixture.counts(0, .ingress)
        #expect(counts[LB_NAT_INGRESS_CANNOT_CREATE_ASSO] == 1)
        #expect(counts.common[.noHealthy] == 1 && counts.common.isBalanced)
        #expect(try lab.association(0) == nil)
        try lab.fixture.fill(0, .roundRobin, [1])
        #expect(try lab.request(0) == lab.server(1))
    }

    @Test("with source_ip all ports of a client get the same server", arguments: families)
    func sourceAddress(family: IPAddress.Family) throws {
        let lab = try NATLab(family, balance: .sourceIP)
        let first = try lab.request(0)
        let client = try lab.client(0)
        for port in 1000..<1020 as Range<UInt16> {
            #expect(try lab.request(from: Endpoint(client.address, port: port)) == first)
        }
    }

    @Test("a server's packet to this host passes", arguments: families)
    func toHost(family: IPAddress.Family) throws {
        let lab = try NATLab(family)
        let host = try lab.client(9)
        try lab.fixture.own("\(host.address)")
        let probe = try Datagram(from: "\(lab.server(0))", to: "\(host)")
        #expect(try lab.fixture.run(probe) == .init(verdict: .pass, output: probe.frame))
        #expect(try lab.association(9) == nil)
        #expect(try lab.fixture.noListener()[LB_NAT_TO_HOST] == 1)
    }

    @Test("a client has one server per listener, and replies come from the right service")
    func listeners() throws {
        let fixture = try NATFixture()
        try fixture.listen(0, on: ["192.0.2.1:5683"], servers: ["10.1.0.1:5683", "10.1.0.2:5683"])
        try fixture.listen(1, on: ["192.0.2.1:5684"], servers: ["10.1.0.1:5684", "10.1.0.2:5684"])
        try onOneCPU { () throws in
            _ = try fixture.run(Datagram(from: "198.51.100.9:1", to: "192.0.2.1:5683"))
            for port in [5683, 5684, 5683] {
                let request = try Datagram(from: "198.51.100.7:7", to: "192.0.2.1:\(port)")
                let server = port == 5683 ? "10.1.0.2:5683" : "10.1.0.1:5684"
                let expected = request.turned(destination: try Endpoint(parsing: server))
                #expect(
                    try fixture.run(request) == .init(verdict: .transmit, output: expected.frame))
                let answer = try Datagram(from: server, to: "198.51.100.7:7")
                let returned = answer.turned(source: request.destination)
                #expect(
                    try fixture.run(answer) == .init(verdict: .transmit, output: returned.frame))
            }
        }
    }

    @Test("replies of a listener with two addresses come from the one the client used last")
    func twoAddresses() throws {
        let fixture = try NATFixture()
        try fixture.listen(
            on: ["192.0.2.1:5683", "192.0.2.2:5683"], servers: ["10.1.0.1:5683", "10.1.0.2:5683"])
        for address in ["192.0.2.2", "192.0.2.1", "192.0.2.2"] {
            let request = try Datagram(from: "198.51.100.7:7", to: "\(address):5683")
            try fixture.run(request)
            let server = try #require(try fixture.association(of: request.source)).server
            let answer = try Datagram(from: "\(server)", to: "198.51.100.7:7")
            let returned = answer.turned(source: request.destination)
            #expect(try fixture.run(answer) == .init(verdict: .transmit, output: returned.frame))
        }
        #expect(fixture.count(in: "associations4") == 1)
    }
}
