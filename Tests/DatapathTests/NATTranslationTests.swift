// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("Packets that xdp_nat translates", .tags(.network), .loadsPrograms, .takesNAT)
struct NATTranslationTests {
    @Test(
        "is translated, one hop older, with correct checksums, and leaves where it came in",
        arguments: try plain() + odd() + checksums())
    func translated(packet: NATCase) throws {
        try packet.check()
    }

    private static func plain() throws -> [NATCase] {
        try [
            .toServer("a request over IPv4"),
            .toServer("a request over IPv6", .v6),
            .toClient("a reply over IPv4"),
            .toClient("a reply over IPv6", .v6),
            .toServer("a request without payload") { $0.payload = [] },
            .toServer("a request without payload over IPv6", .v6) { $0.payload = [] },
            .toServer("a request of the maximum size") {
                $0.payload = [UInt8](repeating: 7, count: 1000)
            },
            .toClient("a reply above the maximum size of a request") {
                $0.payload = [UInt8](repeating: 7, count: 1400)
            },
            .toServer("a request with TTL 2") { $0.timeToLive = 2 },
            .toServer("a request with TTL 255") { $0.timeToLive = 255 },
            .toClient("a reply with hop limit 2", .v6) { $0.timeToLive = 2 },
            .toServer("a request with a traffic class") { $0.trafficClass = 0xb8 },
            .toClient("a reply with a traffic class over IPv6", .v6) { $0.trafficClass = 0xb8 },
            .toServer("a request from source port 0") {
                $0.source = Endpoint($0.source.address, port: 0)
            },
            .toServer("a request from port 65535") {
                $0.source = Endpoint($0.source.address, port: 65535)
            },
            .toServer("a request in a frame padded to 60 bytes") {
                $0.payload = [1]
                $0.padding = 17
            },
        ]
    }

    private static func odd() throws -> [NATCase] {
        let timestamps: [UInt8] = [68, 12, 5, 0] + [UInt8](repeating: 0, count: 8)
        return try [
            .toServer("a request with a priority tag, which it keeps") { $0.tags = [0x8100] },
            .toClient("a reply with a priority tag over IPv6", .v6) { $0.tags = [0x8100] },
            .toServer("a request with two priority tags") { $0.tags = [0x88a8, 0x8100] },
            .toServer("a request with the router alert option") { $0.options = [148, 4, 0, 0] },
            .toClient("a reply with padding, timestamps and an end of options") {
                $0.options = [1] + timestamps + [0, 131, 137]
            },
            .toServer("a request with 40 bytes of options") {
                $0.options = [7, 39, 4] + [UInt8](repeating: 0, count: 36) + [0]
            },
            .toServer("a request with hop-by-hop options", .v6) { $0.extensions = [.hopByHop] },
            .toClient("a reply with destination options", .v6) {
                $0.extensions = [.destinationOptions]
            },
            .toServer("a request whose source route has ended", .v6) {
                $0.extensions = [.routing(segmentsLeft: 0)]
            },
            .toServer("a whole request with a fragment header (RFC 6946)", .v6) {
                $0.fragment = Datagram.Fragment(
                    identification: 9, range: 0..<$0.udp.count, isLast: true)
            },
            .toServer("a request shorter than its packet, as the stack takes it") {
                $0.ipLength = 8 + $0.payload.count + 5
                $0.padding = 5
            },
        ]
    }

    private static func checksums() throws -> [NATCase] {
        try [
            .toServer("a request without a checksum has none afterwards") {
                $0.checksum = .absent
            },
            .toClient("a reply without a checksum has none afterwards") {
                $0.checksum = .absent
            },
            .toServer("a checksum that comes to 0 is sent as 0xffff") {
                $0.payload = try payload(
                    summingToZeroFor: $0.turned(destination: NATCase.server(.v4)))
            },
            .toServer("a checksum that comes to 0 is sent as 0xffff over IPv6", .v6) {
                $0.payload = try payload(
                    summingToZeroFor: $0.turned(destination: NATCase.server(.v6)))
            },
            .toClient("a reply's checksum that comes to 0 is sent as 0xffff") {
                $0.payload = try payload(
                    summingToZeroFor: $0.turned(source: NATCase.service(.v4)))
            },
            .toServer("a checksum of 0xffff is updated as any other") {
                $0.payload = try payload(summingToZeroFor: $0)
            },
        ]
    }

    /// A payload that makes the datagram's checksum 0.
    private static func payload(summingToZeroFor datagram: Datagram) throws -> [UInt8] {
        var there = datagram
        there.payload = [0, 0]
        there.payload = Array(there.udp[6...7])
        // With the checksum added, the words sum to 0xffff, whose complement is 0.
        try #require(there.udp[6...7] == [0xff, 0xff])
        return there.payload
    }
}
