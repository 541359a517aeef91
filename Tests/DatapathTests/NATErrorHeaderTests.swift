// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import FanoutCore
import Testing
import Tiers

@Suite(
    "ICMP errors about packets with more headers in xdp_nat", .tags(.network), .loadsPrograms,
    .takesNAT)
struct NATErrorHeaderTests {
    /// The headers between the IP header and UDP of the quoted packet.
    struct Headers: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let family: IPAddress.Family
        let bend: @Sendable (inout Datagram) -> Void

        init(
            _ name: String, _ family: IPAddress.Family = .v6,
            _ bend: @escaping @Sendable (inout Datagram) -> Void
        ) {
            (testDescription, self.family, self.bend) = (name, family, bend)
        }
    }

    static let translated = [
        Headers("the router alert option", .v4) { $0.options = [148, 4, 0, 0] },
        Headers("40 bytes of options", .v4) {
            $0.options = [7, 39, 4] + [UInt8](repeating: 0, count: 36) + [0]
        },
        Headers("options, of a first fragment", .v4) {
            $0.options = [1, 148, 4, 0, 0, 7, 3, 4]
            $0.fragment = .init(identification: 9, range: 0..<32, isLast: false)
        },
        Headers("hop-by-hop options") { $0.extensions = [.hopByHop] },
        Headers("destination options") { $0.extensions = [.destinationOptions] },
        Headers("a source route that has ended") { $0.extensions = [.routing(segmentsLeft: 0)] },
        Headers("three extension headers") {
            $0.extensions = [.hopByHop, .destinationOptions, .routing(segmentsLeft: 0)]
        },
        Headers("a fragment header, of a first fragment") {
            $0.fragment = .init(identification: 9, range: 0..<32, isLast: false)
        },
        Headers("80 bytes of options") {
            $0.extensions = [.init(type: 60, body: [9, 1, 76] + [UInt8](repeating: 0, count: 76))]
        },
    ]

    static let left = [
        Headers("a later fragment", .v4) {
            $0.options = [148, 4, 0, 0]
            $0.fragment = .init(identification: 9, range: 16..<32, isLast: false)
        },
        Headers("a later fragment over IPv6") {
            $0.fragment = .init(identification: 9, range: 16..<32, isLast: false)
        },
        Headers("a source route that goes on") { $0.extensions = [.routing(segmentsLeft: 1)] },
        Headers("more extension headers than the program reads") {
            $0.extensions = [Datagram.Extension](repeating: .hopByHop, count: 7)
        },
    ]

    @Test(
        "about a client's packet, from its server: reaches the client as the service's",
        arguments: translated, [false, true])
    func fromServer(headers: Headers, isCut: Bool) throws {
        let lab = try associated(headers.family)
        let (seen, known) = try quoted(
            headers, from: lab.client(0), to: (lab.server(0), lab.service))
        let bytes = isCut ? cut(seen) : 128
        let error = try error(
            from: lab.server(0), to: lab.client(0), quoting: seen, bytes: bytes)
        var expected = error.turned(source: lab.service.address)
        expected.body.replaceSubrange(8..., with: known.frame.dropFirst(14).prefix(bytes))
        #expect(
            try lab.fixture.run(error.frame) == .init(verdict: .transmit, output: expected.frame))
        #expect(try lab.fixture.counts(0, .egress)[LB_NAT_EGRESS_ICMP_ERROR] == 1)
    }

    @Test(
        "about a server's packet, from the client: reaches that server",
        arguments: translated, [false, true])
    func fromClient(headers: Headers, isCut: Bool) throws {
        let lab = try associated(headers.family)
        var seen = try Datagram(from: "\(lab.service)", to: "\(lab.client(0))")
        headers.bend(&seen)
        var known = seen
        known.source = try lab.server(0)
        // A fragment's checksum covers the whole datagram, which the client received from the service.
        let bytes = isCut ? cut(seen) : 128
        let error = try error(
            from: lab.client(0), to: lab.service, quoting: seen, bytes: bytes)
        var expected = error.turned(destination: try lab.server(0).address)
        expected.body.replaceSubrange(8..., with: known.frame.dropFirst(14).prefix(bytes))
        #expect(
            try lab.fixture.run(error.frame) == .init(verdict: .transmit, output: expected.frame))
        #expect(try lab.fixture.counts(0, .ingress)[LB_NAT_INGRESS_ICMP_ERROR] == 1)
    }

    @Test("without ports behind them it passes", arguments: left)
    func untouched(headers: Headers) throws {
        let lab = try associated(headers.family)
        let (seen, _) = try quoted(headers, from: lab.client(0), to: (lab.server(0), lab.service))
        let error = try error(from: lab.server(0), to: lab.client(0), quoting: seen, bytes: 128)
        #expect(try lab.fixture.run(error.frame) == .init(verdict: .pass, output: error.frame))
        #expect(try lab.fixture.noListener()[LB_NAT_UNHANDLED_TRAFFIC] == 1)
    }

    @Test("an error that is itself behind options is translated", arguments: [4, 40])
    func behindOptions(bytes: Int) throws {
        let lab = try associated(.v4)
        let (seen, known) = try quoted(
            Self.translated[1], from: lab.client(0), to: (lab.server(0), lab.service))
        var error = try error(from: lab.server(0), to: lab.client(0), quoting: seen, bytes: 128)
        error.options = [UInt8](repeating: 0, count: bytes)
        var expected = error.turned(source: lab.service.address)
        expected.body.replaceSubrange(8..., with: known.frame.dropFirst(14).prefix(128))
        #expect(
            try lab.fixture.run(error.frame) == .init(verdict: .transmit, output: expected.frame))
    }

    /// A packet as the server saw it, and as the client knows it.
    private func quoted(
        _ headers: Headers, from client: Endpoint, to ends: (server: Endpoint, service: Endpoint)
    ) throws -> (Datagram, Datagram) {
        var seen = try Datagram(from: "\(client)", to: "\(ends.server)")
        headers.bend(&seen)
        var known = seen
        known.destination = ends.service
        return (seen, known)
    }

    /// The bytes that must be quoted: all headers, and eight bytes of UDP.
    private func cut(_ seen: Datagram) -> Int {
        seen.frame.count - 14 - (seen.fragment?.range.count ?? seen.udp.count) + 8
    }

    private func error(
        from source: Endpoint, to destination: Endpoint, quoting seen: Datagram, bytes: Int
    ) throws -> IPPacket {
        try IPPacket.error(
            seen.isV6 ? 1 : 3, code: seen.isV6 ? 4 : 3, from: "\(source.address)",
            to: "\(destination.address)", quoting: seen.frame, bytes: bytes)
    }

    /// A lab in which client 0 has server 0.
    private func associated(_ family: IPAddress.Family) throws -> NATLab {
        let lab = try NATLab(family)
        try lab.request(0)
        return lab
    }
}
