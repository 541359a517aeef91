// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("Packets that tc_fanout does not forward", .tags(.network), .loadsPrograms, .takesFanout)
struct OtherPacketTests {
    @Test("passes to the stack untouched and uncounted", arguments: try foreign())
    func untouched(packet: PacketCase) throws {
        try packet.check()
    }

    @Test("is dropped and counted with its reason", arguments: try unforwardable())
    func dropped(packet: PacketCase) throws {
        try packet.check()
    }

    static func unforwardable() throws -> [PacketCase] {
        try [
            .dropped("a datagram with TTL 1", .ttlExpired) { $0.timeToLive = 1 },
            .dropped("a datagram with TTL 0", .ttlExpired) { $0.timeToLive = 0 },
            .dropped("a datagram with hop limit 1", .ttlExpired, .v6) { $0.timeToLive = 1 },
            .dropped("a datagram above the listener's maximum size", .oversize) {
                $0.payload = [UInt8](repeating: 7, count: 1001)
            },
        ]
    }

    static func foreign() throws -> [PacketCase] {
        try elsewhere() + otherProtocols() + malformed() + refusedByHosts()
    }

    private static func elsewhere() throws -> [PacketCase] {
        let v4 = try IPAddress.parsed("192.0.2.2")
        let v6 = try IPAddress.parsed("2001:db8::2")
        return try [
            .untouched("a datagram to another port") {
                $0.destination = Endpoint($0.destination.address, port: 515)
            },
            .untouched("a datagram to port 0") {
                $0.destination = Endpoint($0.destination.address, port: 0)
            },
            .untouched("a datagram to another address") {
                $0.destination = Endpoint(v4, port: 514)
            },
            .untouched("a datagram to another address over IPv6", .v6) {
                $0.destination = Endpoint(v6, port: 514)
            },
            .untouched("a datagram in a frame for another host") {
                $0.ethernetDestination = [2, 0, 0, 0, 0, 1]
            },
            .untouched("a datagram in a VLAN") { ($0.tags, $0.vlans) = ([0x8100], [7]) },
            .untouched("a datagram in a VLAN over IPv6", .v6) {
                ($0.tags, $0.vlans) = ([0x8100], [0xfff])
            },
            .untouched("a datagram in a VLAN behind a priority tag") {
                ($0.tags, $0.vlans) = ([0x88a8, 0x8100], [0, 7])
            },
            .untouched("a datagram in a service provider's VLAN") {
                ($0.tags, $0.vlans) = ([0x88a8, 0x8100], [7, 0])
            },
            .untouched("a datagram in a broadcast frame") {
                $0.ethernetDestination = [UInt8](repeating: 0xff, count: 6)
            },
        ]
    }

    private static func otherProtocols() throws -> [PacketCase] {
        let arp =
            [UInt8](repeating: 0, count: 6) + [2, 0, 0, 0, 0, 9, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1]
            + [UInt8](repeating: 0, count: 20)
        return try [
            .untouched("TCP") { $0.protocolNumber = 6 },
            .untouched("TCP over IPv6", .v6) { $0.protocolNumber = 6 },
            .untouched("UDP-Lite") { $0.protocolNumber = 136 },
            .untouched("ICMPv6 behind hop-by-hop options", .v6) {
                $0.extensions = [.hopByHop]
                $0.protocolNumber = 58
            },
            PacketCase("ARP", frame: arp, .untouched),
            .untouched("a datagram with three tags") { $0.tags = [0x88a8, 0x8100, 0x8100] },
        ]
    }

    private static func malformed() throws -> [PacketCase] {
        let v4 = try PacketCase.datagram(.v4).frame
        let v6 = try PacketCase.datagram(.v6).frame
        var badSum = v4
        badSum[24] ^= 1
        return try [
            .untouched("an IP length past the frame") { $0.ipLength = 500 },
            .untouched("an IP length past the frame over IPv6", .v6) { $0.ipLength = 500 },
            .untouched("an IP length without room for a UDP header") { $0.ipLength = 7 },
            .untouched("an IP length of 0 over IPv6", .v6) { $0.ipLength = 0 },
            .untouched("a UDP length past its packet") { $0.udpLength = 100 },
            .untouched("a UDP length past its packet over IPv6", .v6) { $0.udpLength = 100 },
            .untouched("a UDP length below its header") { $0.udpLength = 7 },
            PacketCase("an IPv4 header with a wrong checksum", frame: badSum, .untouched),
            PacketCase("a UDP header cut short", frame: Array(v4[..<41]), .untouched),
            PacketCase("a UDP header cut short over IPv6", frame: Array(v6[..<61]), .untouched),
            PacketCase(
                "a tag without a payload", frame: Array(v4[..<12]) + [0x81, 0, 0, 1],
                .untouched),
        ]
    }

    /// RFC 1122, section 3.2.1.3; RFC 4291; RFC 8200.
    private static func refusedByHosts() throws -> [PacketCase] {
        func from(_ address: String) -> (inout Datagram) throws -> Void {
            { $0.source = Endpoint(try .parsed(address), port: 40000) }
        }
        return try [
            .untouched("no checksum over IPv6, where it is required", .v6) {
                $0.checksum = .absent
            },
            .untouched("a strict source route") { $0.options = [137, 7, 4, 10, 0, 0, 1, 0] },
            .untouched("a loose source route behind padding") {
                $0.options = [1, 131, 7, 4, 10, 0, 0, 1]
            },
            .untouched("an option of length 0") { $0.options = [68, 0, 0, 0] },
            .untouched("more options than the program reads") {
                $0.options = [UInt8](repeating: 1, count: 12)
            },
            .untouched("a source route that goes on", .v6) {
                $0.extensions = [.routing(segmentsLeft: 1)]
            },
            .untouched("more extension headers than the program reads", .v6) {
                $0.extensions = [Datagram.Extension](repeating: .hopByHop, count: 7)
            },
            .untouched("extension headers above the program's limit", .v6) {
                $0.extensions = [.init(type: 60, body: [30] + [UInt8](repeating: 0, count: 246))]
            },
            .untouched("a datagram from a multicast address", .v4, from("224.0.0.1")),
            .untouched("a datagram from the broadcast address", .v4, from("255.255.255.255")),
            .untouched("a datagram from no address", .v4, from("0.0.0.0")),
            .untouched("a datagram from a loopback address", .v4, from("127.0.0.1")),
            .untouched("a datagram from a multicast address over IPv6", .v6, from("ff02::1")),
            .untouched("a datagram from no address over IPv6", .v6, from("::")),
            .untouched("a datagram from the loopback address over IPv6", .v6, from("::1")),
        ]
    }
}

extension IPAddress {
    static func parsed(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }
}
