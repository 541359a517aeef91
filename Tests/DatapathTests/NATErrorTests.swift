// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import FanoutCore
import Testing
import Tiers

/// ICMP errors quote the packet as their sender saw it; the host that gets the error must recognise that packet.
@Suite("ICMP errors in xdp_nat", .tags(.network), .loadsPrograms, .takesNAT)
struct NATErrorTests {
    /// An error of either family.
    struct Kind: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let family: IPAddress.Family
        let type: UInt8
        let code: UInt8
        var rest: UInt32 = 0

        init(
            _ name: String, _ family: IPAddress.Family, _ type: UInt8, _ code: UInt8,
            _ rest: UInt32 = 0
        ) {
            testDescription = name
            self.family = family
            self.type = type
            self.code = code
            self.rest = rest
        }
    }

    static let kinds = [
        Kind("port unreachable", .v4, 3, 3), Kind("host unreachable", .v4, 3, 1),
        Kind("fragmentation needed", .v4, 3, 4, 1400), Kind("time exceeded", .v4, 11, 0),
        Kind("parameter problem", .v4, 12, 0, 20 << 24),
        Kind("port unreachable over IPv6", .v6, 1, 4), Kind("no route over IPv6", .v6, 1, 0),
        Kind("packet too big over IPv6", .v6, 2, 0, 1280),
        Kind("time exceeded over IPv6", .v6, 3, 0), Kind("parameter problem over IPv6", .v6, 4, 0),
    ]

    @Test(
        "about a client's packet, from its server: reaches the client as the service's",
        arguments: kinds)
    func fromServer(kind: Kind) throws {
        let lab = try associated(kind.family)
        let seen = try Datagram(from: "\(lab.client(0))", to: "\(lab.server(0))")
        let known = try Datagram(from: "\(lab.client(0))", to: "\(lab.service)")
        let error = try IPPacket.error(
            kind.type, code: kind.code, rest: kind.rest, from: "\(lab.server(0).address)",
            to: "\(lab.client(0).address)", quoting: seen.frame)
        var expected = error.turned(source: lab.service.address)
        expected.body.replaceSubrange(8..., with: known.frame.dropFirst(14).prefix(128))
        #expect(
            try lab.fixture.run(error.frame) == .init(verdict: .transmit, output: expected.frame))
        #expect(try lab.fixture.counts(0, .egress)[LB_NAT_EGRESS_ICMP_ERROR] == 1)
    }

    @Test("about a server's packet, from the client: reaches that server", arguments: kinds)
    func fromClient(kind: Kind) throws {
        let lab = try associated(kind.family)
        let seen = try Datagram(from: "\(lab.service)", to: "\(lab.client(0))")
        let known = try Datagram(from: "\(lab.server(0))", to: "\(lab.client(0))")
        let error = try IPPacket.error(
            kind.type, code: kind.code, rest: kind.rest, from: "\(lab.client(0).address)",
            to: "\(lab.service.address)", quoting: seen.frame)
        var expected = error.turned(destination: try lab.server(0).address)
        expected.body.replaceSubrange(8..., with: known.frame.dropFirst(14).prefix(128))
        #expect(
            try lab.fixture.run(error.frame) == .init(verdict: .transmit, output: expected.frame))
        #expect(try lab.fixture.counts(0, .ingress)[LB_NAT_INGRESS_ICMP_ERROR] == 1)
        let ledger = try lab.fixture.counts(0, .ingress).common
        #expect(ledger.received == 1 && ledger.isBalanced)
    }

    @Test("from a router on the way, without the servers' addresses", arguments: families)
    func fromRouter(family: IPAddress.Family) throws {
        let lab = try associated(family)
        let isV6 = family == .v6
        let seen = try Datagram(from: "\(lab.client(0))", to: "\(lab.server(0))")
        let known = try Datagram(from: "\(lab.client(0))", to: "\(lab.service)")
        let error = try IPPacket.error(
            isV6 ? 2 : 3, code: isV6 ? 0 : 4, rest: 1300,
            from: isV6 ? "2001:db8:51::ffff" : "10.1.0.250", to: "\(lab.client(0).address)",
            quoting: seen.frame)
        var expected = error.turned(source: lab.service.address)
        expected.body.replaceSubrange(8..., with: known.frame.dropFirst(14).prefix(128))
        #expect(
            try lab.fixture.run(error.frame) == .init(verdict: .transmit, output: expected.frame))
    }

    @Test(
        "from a router on the way to the client, with one arm, it reaches the server as the service's",
        arguments: families)
    func fromRouterToServer(family: IPAddress.Family) throws {
        let lab = try associated(family)
        let isV6 = family == .v6
        let seen = try Datagram(from: "\(lab.service)", to: "\(lab.client(0))")
        let known = try Datagram(from: "\(lab.server(0))", to: "\(lab.client(0))")
        let error = try IPPacket.error(
            isV6 ? 2 : 3, code: isV6 ? 0 : 4, rest: 1300,
            from: isV6 ? "2001:db8:51::ffff" : "10.1.0.250", to: "\(lab.service.address)",
            quoting: seen.frame)
        var expected = error.turned(
            source: lab.service.address, destination: try lab.server(0).address)
        expected.body.replaceSubrange(8..., with: known.frame.dropFirst(14).prefix(128))
        #expect(
            try lab.fixture.run(error.frame) == .init(verdict: .transmit, output: expected.frame))
    }

    @Test("an error that quotes eight bytes of the datagram is translated too", arguments: families)
    func short(family: IPAddress.Family) throws {
        let lab = try associated(family)
        let isV6 = family == .v6
        let bytes = isV6 ? 48 : 28
        let seen = try Datagram(from: "\(lab.client(0))", to: "\(lab.server(0))")
        let known = try Datagram(from: "\(lab.client(0))", to: "\(lab.service)")
        let error = try IPPacket.error(
            isV6 ? 1 : 3, code: isV6 ? 4 : 3, from: "\(lab.server(0).address)",
            to: "\(lab.client(0).address)", quoting: seen.frame, bytes: bytes)
        var expected = error.turned(source: lab.service.address)
        expected.body.replaceSubrange(8..., with: known.frame.dropFirst(14).prefix(bytes))
        #expect(
            try lab.fixture.run(error.frame) == .init(verdict: .transmit, output: expected.frame))
    }

    @Test("a quoted datagram without a checksum has none afterwards")
    func quotedWithoutChecksum() throws {
        let lab = try associated(.v4)
        var seen = try Datagram(from: "\(lab.client(0))", to: "\(lab.server(0))")
        seen.checksum = .absent
        var known = seen
        known.destination = lab.service
        let error = try IPPacket.error(
            3, code: 3, from: "\(lab.server(0).address)", to: "\(lab.client(0).address)",
            quoting: seen.frame)
        var expected = error.turned(source: lab.service.address)
        expected.body.replaceSubrange(8..., with: known.frame.dropFirst(14))
        #expect(
            try lab.fixture.run(error.frame) == .init(verdict: .transmit, output: expected.frame))
    }

    @Test("passes when it quotes a packet that was not sent", arguments: families)
    func spoofed(family: IPAddress.Family) throws {
        let lab = try associated(family)
        let isV6 = family == .v6
        let type: UInt8 = isV6 ? 1 : 3
        let client = try lab.client(0)
        for (from, to, quoted) in [
            // No association; another server's client; another port than that of the quoted packet.
            (lab.service, try lab.client(5), lab.service),
            (try lab.client(0), try lab.server(1), try lab.client(0)),
            (lab.service, client, try lab.client(3)),
            (client, try lab.server(0), try lab.client(3)),
        ] {
            let seen = try Datagram(from: "\(from)", to: "\(to)")
            let error = try IPPacket.error(
                type, code: 3, from: "\(to.address)", to: "\(quoted.address)", quoting: seen.frame)
            #expect(
                try lab.fixture.run(error.frame) == .init(verdict: .pass, output: error.frame))
        }
        #expect(try lab.association(5) == nil)
        #expect(try lab.fixture.noListener()[LB_NAT_UNHANDLED_TRAFFIC] == 4)
    }

    @Test("an error without a hop left is dropped, and a truncated one passes")
    func expired() throws {
        let lab = try associated(.v4)
        let seen = try Datagram(from: "\(lab.client(0))", to: "\(lab.server(0))")
        var error = try IPPacket.error(
            11, code: 0, from: "\(lab.server(0).address)", to: "\(lab.client(0).address)",
            quoting: seen.frame)
        let cut = try IPPacket.error(
            11, code: 0, from: "\(lab.server(0).address)", to: "\(lab.client(0).address)",
            quoting: seen.frame, bytes: 24)
        #expect(try lab.fixture.run(cut.frame) == .init(verdict: .pass, output: cut.frame))
        error.timeToLive = 1
        #expect(try lab.fixture.run(error.frame).verdict == .drop)
        #expect(try lab.fixture.noListener()[LB_NAT_LIFETIME_EXPIRED] == 1)
    }

    static let families = [IPAddress.Family.v4, .v6]

    /// A lab in which client 0 has server 0.
    private func associated(_ family: IPAddress.Family) throws -> NATLab {
        let lab = try NATLab(family)
        try lab.request(0)
        return lab
    }
}
