// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import FanoutCore
import Testing
import Tiers

@Suite("TCP in xdp_nat", .tags(.network), .loadsPrograms, .takesNAT)
struct NATSegmentTests {
    static let families = [IPAddress.Family.v4, .v6]

    @Test("segments are translated both ways, when TCP is served", arguments: families)
    func translated(family: IPAddress.Family) throws {
        let fixture = try served(family)
        let (client, service) = (try NATCase.client(family), try NATCase.service(family))
        let server = try NATCase.server(family)
        let request = IPPacket.segment(from: client, to: service)
        var toServer = IPPacket.segment(from: client, to: server)
        toServer = toServer.turned()
        #expect(
            try fixture.run(request.frame) == .init(verdict: .transmit, output: toServer.frame))
        let answer = IPPacket.segment(from: server, to: client)
        let toClient = IPPacket.segment(from: service, to: client).turned()
        #expect(try fixture.run(answer.frame) == .init(verdict: .transmit, output: toClient.frame))
        let ingress = try fixture.counts(0, .ingress).common
        #expect(ingress.forwarded == 1 && ingress.forwardedBytes == 9)
        #expect(try fixture.association(of: client, protocolNumber: 6)?.isAnswered == true)
        #expect(try fixture.association(of: client, protocolNumber: 17) == nil)
    }

    @Test("an error about a segment is translated, though its checksum is not quoted")
    func error() throws {
        let fixture = try served(.v4)
        let (client, service) = (try NATCase.client(.v4), try NATCase.service(.v4))
        let server = try NATCase.server(.v4)
        try fixture.run(IPPacket.segment(from: client, to: service).frame)
        for bytes in [28, 60] {
            let error = try IPPacket.error(
                3, code: 4, rest: 1400, from: "\(server.address)", to: "\(client.address)",
                quoting: IPPacket.segment(from: client, to: server).frame, bytes: bytes)
            var expected = error.turned(source: service.address)
            let known = IPPacket.segment(from: client, to: service).frame
            expected.body.replaceSubrange(8..., with: known.dropFirst(14).prefix(bytes))
            #expect(
                try fixture.run(error.frame) == .init(verdict: .transmit, output: expected.frame))
        }
    }

    @Test("a segment with a truncated header is dropped")
    func malformed() throws {
        let fixture = try served(.v4)
        for offset in [0x40, 0xf0] as [UInt8] {
            var packet = IPPacket.segment(
                from: try NATCase.client(.v4), to: try NATCase.service(.v4))
            packet.body[12] = offset
            #expect(try fixture.run(packet.frame).verdict == .drop)
        }
        #expect(try fixture.noListener()[LB_NAT_INVALID_UDP_SIZE] == 2)
    }

    @Test("UDP to a port that serves only TCP passes")
    func otherProtocol() throws {
        let fixture = try served(.v4)
        let packet = try NATCase.request(.v4)
        #expect(try fixture.run(packet) == .init(verdict: .pass, output: packet.frame))
    }

    private func served(_ family: IPAddress.Family) throws -> NATFixture {
        // The maximum size of datagrams does not apply to TCP: segments here carry 9 bytes.
        let fixture = try NATFixture(.init(takesTCP: true, packetMax: 8))
        try fixture.listen(
            on: ["\(NATCase.service(family))"], servers: ["\(NATCase.server(family))"],
            protocolNumber: 6)
        return fixture
    }
}
