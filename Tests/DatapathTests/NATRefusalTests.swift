// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

@Suite("Packets that xdp_nat does not translate", .tags(.network), .loadsPrograms, .takesNAT)
struct NATRefusalTests {
    @Test("passes to the stack unchanged", arguments: try notOurs() + beyond())
    func untouched(packet: NATCase) throws {
        try packet.check()
    }

    @Test("is dropped with its reason", arguments: try malformed() + expired())
    func dropped(packet: NATCase) throws {
        try packet.check()
    }

    private static func notOurs() throws -> [NATCase] {
        var arp = [UInt8](repeating: 0xff, count: 6) + [2, 0, 0, 0, 0, 9, 8, 6]
        arp += [UInt8](repeating: 1, count: 46)
        var unicastARP = arp
        unicastARP.replaceSubrange(0..<6, with: [UInt8](repeating: 0, count: 6))
        return try [
            NATCase("an ARP request", frame: arp, .untouched(LB_NAT_UNHANDLED_TRAFFIC)),
            NATCase("an ARP answer", frame: unicastARP, .untouched(LB_NAT_NOT_IP)),
            .untouched("a datagram to an address that no listener serves", LB_NAT_UNHANDLED_TRAFFIC)
            {
                $0.destination = try Endpoint(parsing: "192.0.2.9:5683")
            },
            .untouched(
                "one over IPv6 to an address that no listener serves", LB_NAT_UNHANDLED_TRAFFIC, .v6
            ) {
                $0.destination = try Endpoint(parsing: "[2001:db8::9]:5683")
            },
            .untouched(
                "a datagram to another port of the service", LB_NAT_INGRESS_NOT_HANDLED_PORT
            ) { $0.destination = Endpoint($0.destination.address, port: 5684) },
            .untouched("a datagram to port 0 of the service", LB_NAT_INGRESS_NOT_HANDLED_PORT) {
                $0.destination = Endpoint($0.destination.address, port: 0)
            },
            .untouched("a datagram from another port of a server", LB_NAT_EGRESS_NOT_HANDLED_PORT) {
                $0.source = try Endpoint(parsing: "10.1.0.1:7002")
                $0.destination = try Endpoint(parsing: "198.51.100.7:40000")
            },
            .untouched("TCP to the service, which is not served", LB_NAT_NOT_UDP) {
                $0.protocolNumber = 6
            },
            .untouched("UDP-Lite to the service", LB_NAT_NOT_UDP, .v6) { $0.protocolNumber = 136 },
            .untouched("an ICMP message other than an error", LB_NAT_NOT_UDP) {
                $0.protocolNumber = 1
                $0.source = Endpoint($0.source.address, port: 0x0800)
            },
            .untouched("a datagram in a VLAN", LB_NAT_UNHANDLED_TRAFFIC) {
                ($0.tags, $0.vlans) = ([0x8100], [7])
            },
            .untouched("a datagram in a VLAN over IPv6", LB_NAT_UNHANDLED_TRAFFIC, .v6) {
                ($0.tags, $0.vlans) = ([0x8100], [0xfff])
            },
            .untouched("a datagram in a VLAN behind a priority tag", LB_NAT_UNHANDLED_TRAFFIC) {
                ($0.tags, $0.vlans) = ([0x88a8, 0x8100], [0, 7])
            },
            .untouched("a datagram in a service provider's VLAN", LB_NAT_UNHANDLED_TRAFFIC) {
                ($0.tags, $0.vlans) = ([0x88a8, 0x8100], [7, 0])
            },
            .untouched("a datagram in a multicast frame", LB_NAT_UNHANDLED_TRAFFIC) {
                $0.ethernetDestination = [1, 0, 0x5e, 0, 0, 1]
            },
            .untouched("a request from a multicast address", LB_NAT_UNHANDLED_TRAFFIC) {
                $0.source = try Endpoint(parsing: "224.0.0.1:40000")
            },
            .untouched("a request from a loopback address", LB_NAT_UNHANDLED_TRAFFIC) {
                $0.source = try Endpoint(parsing: "127.0.0.1:40000")
            },
            .untouched("a request from no address over IPv6", LB_NAT_UNHANDLED_TRAFFIC, .v6) {
                $0.source = try Endpoint(parsing: "[::]:40000")
            },
            .untouched("a server's packet to a multicast group", LB_NAT_UNHANDLED_TRAFFIC) {
                $0.source = try NATCase.server(.v4)
                $0.destination = try Endpoint(parsing: "224.0.0.251:5353")
            },
        ]
    }

    private static func beyond() throws -> [NATCase] {
        try [
            .untouched("a strict source route", LB_NAT_TOO_BIG_IP_HEADER) {
                $0.options = [137, 7, 4, 10, 0, 0, 1, 0]
            },
            .untouched("more options than the program reads", LB_NAT_TOO_BIG_IP_HEADER) {
                $0.options = [UInt8](repeating: 1, count: 12)
            },
            .untouched("a source route that goes on", LB_NAT_NOT_UDP, .v6) {
                $0.extensions = [.routing(segmentsLeft: 1)]
            },
            .untouched("more extension headers than the program reads", LB_NAT_NOT_UDP, .v6) {
                $0.extensions = [Datagram.Extension](repeating: .hopByHop, count: 7)
            },
            .untouched("extension headers above the program's limit", LB_NAT_TOO_BIG_IP_HEADER, .v6)
            {
                $0.extensions = [.init(type: 60, body: [30] + [UInt8](repeating: 0, count: 246))]
            },
            .untouched("a malformed datagram for another process", LB_NAT_UNHANDLED_TRAFFIC) {
                $0.destination = try Endpoint(parsing: "192.0.2.9:5683")
                $0.udpLength = 100
            },
        ]
    }

    private static func malformed() throws -> [NATCase] {
        var badSum = try NATCase.request(.v4).frame
        badSum[24] ^= 1
        var shortHeader = try NATCase.request(.v4).frame
        shortHeader[14] = 0x44
        let v4 = try NATCase.request(.v4).frame
        let v6 = try NATCase.request(.v6).frame
        return try [
            NATCase(
                "an IPv4 header with a wrong checksum", frame: badSum,
                .malformed(LB_NAT_INVALID_IP_CHECKSUM)),
            NATCase(
                "an IPv4 header of 16 bytes", frame: shortHeader,
                .malformed(LB_NAT_TOO_SMALL_IP_HEADER)),
            NATCase(
                "a truncated packet", frame: Array(v4.dropLast()),
                .malformed(LB_NAT_INVALID_IP_SIZE)),
            NATCase(
                "a packet truncated in its UDP header over IPv6", frame: Array(v6[..<60]),
                .malformed(LB_NAT_INVALID_IP_SIZE)),
            .malformed("an IP length without room for a UDP header", LB_NAT_INVALID_UDP_SIZE) {
                $0.ipLength = 7
            },
            .malformed("an IP length of 0 over IPv6", LB_NAT_INVALID_UDP_SIZE, .v6) {
                $0.ipLength = 0
            },
            .malformed("a UDP length past its packet", LB_NAT_INVALID_UDP_SIZE) {
                $0.udpLength = 100
            },
            .malformed("a UDP length past its packet over IPv6", LB_NAT_INVALID_UDP_SIZE, .v6) {
                $0.udpLength = 100
            },
            .malformed("a UDP length below its header", LB_NAT_INVALID_UDP_SIZE) {
                $0.udpLength = 7
            },
            .malformed(
                "no checksum over IPv6, where it is required", LB_NAT_INVALID_UDP_CHECKSUM, .v6
            ) {
                $0.checksum = .absent
            },
            .malformed("a malformed datagram from a server", LB_NAT_INVALID_UDP_SIZE) {
                $0.source = try NATCase.server(.v4)
                $0.destination = try NATCase.client(.v4)
                $0.udpLength = 7
            },
        ]
    }

    private static func expired() throws -> [NATCase] {
        func dropped(
            _ sentence: String, _ packet: Datagram, _ event: lb_nat_event, _ reason: DropReason,
            _ direction: NATFixture.Direction = .ingress, _ bend: (inout Datagram) -> Void
        ) -> NATCase {
            var packet = packet
            bend(&packet)
            return NATCase(sentence, packet, .dropped(event, reason, direction))
        }
        return try [
            dropped(
                "a request with TTL 1", NATCase.request(.v4), LB_NAT_LIFETIME_EXPIRED, .ttlExpired
            ) { $0.timeToLive = 1 },
            dropped(
                "a request with TTL 0", NATCase.request(.v4), LB_NAT_LIFETIME_EXPIRED, .ttlExpired
            ) { $0.timeToLive = 0 },
            dropped(
                "a request with hop limit 1", NATCase.request(.v6), LB_NAT_LIFETIME_EXPIRED,
                .ttlExpired
            ) { $0.timeToLive = 1 },
            dropped(
                "a reply with TTL 1", NATCase.answer(.v4), LB_NAT_LIFETIME_EXPIRED, .ttlExpired,
                .egress
            ) { $0.timeToLive = 1 },
            dropped(
                "an oversize request", NATCase.request(.v4), LB_NAT_OVERSIZE, .oversize
            ) { $0.payload = [UInt8](repeating: 1, count: 1001) },
        ]
    }
}
