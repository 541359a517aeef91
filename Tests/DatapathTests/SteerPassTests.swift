// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import FanoutCore
import Testing
import Tiers

@Suite(
    "Packets that xdp_steer leaves to the stack", .tags(.network), .loadsPrograms, .takesSteering)
struct SteerPassTests {
    @Test("passes", arguments: try foreign() + malformed() + fragments() + refusedByHosts())
    func passed(packet: SteerCase) throws {
        #expect(try SteerCase.verdict(packet.frame) == .pass)
    }

    private static func foreign() throws -> [SteerCase] {
        let v4 = try IPAddress.parsed("192.0.2.2")
        let v6 = try IPAddress.parsed("2001:db8::2")
        let arp =
            SteerFixture.mac + [2, 0, 0, 0, 0, 9, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1]
            + [UInt8](repeating: 0, count: 20)
        return try [
            SteerCase("a datagram to another port") {
                $0.destination = Endpoint($0.destination.address, port: 515)
            },
            SteerCase("a datagram to another address") { $0.destination = Endpoint(v4, port: 514) },
            SteerCase("a datagram to another address over IPv6", .v6) {
                $0.destination = Endpoint(v6, port: 514)
            },
            SteerCase("a datagram in a frame for another host") {
                $0.ethernetDestination = [2, 0, 0, 0, 0, 2]
            },
            SteerCase("a datagram in a frame for a host of another vendor") {
                $0.ethernetDestination = [6, 0, 0, 0, 0, 1]
            },
            SteerCase("a datagram in a broadcast frame") {
                $0.ethernetDestination = [UInt8](repeating: 0xff, count: 6)
            },
            SteerCase("a datagram in a VLAN") { ($0.tags, $0.vlans) = ([0x8100], [7]) },
            SteerCase("a datagram in a VLAN over IPv6", .v6) {
                ($0.tags, $0.vlans) = ([0x8100], [0xfff])
            },
            SteerCase("a datagram in a VLAN behind a priority tag") {
                ($0.tags, $0.vlans) = ([0x88a8, 0x8100], [0, 7])
            },
            SteerCase("a datagram in a service provider's VLAN") {
                ($0.tags, $0.vlans) = ([0x88a8, 0x8100], [7, 0])
            },
            SteerCase("TCP") { $0.protocolNumber = 6 },
            SteerCase("TCP over IPv6", .v6) { $0.protocolNumber = 6 },
            SteerCase("ICMP") { $0.protocolNumber = 1 },
            SteerCase("UDP-Lite") { $0.protocolNumber = 136 },
            SteerCase("ARP", frame: arp),
            SteerCase("a datagram behind three tags") { $0.tags = [0x88a8, 0x8100, 0x8100] },
            SteerCase("a datagram longer than a frame") {
                $0.payload = [UInt8](repeating: 7, count: SteerFixture.longest - 41)
            },
            SteerCase("a datagram in several buffers") {
                $0.payload = [UInt8](repeating: 7, count: 6000)
            },
        ]
    }

    private static func malformed() throws -> [SteerCase] {
        let v4 = try SteerCase("").frame
        let v6 = try SteerCase("", .v6).frame
        var badSum = v4
        badSum[24] ^= 1
        return try [
            SteerCase("an IP length past the frame") { $0.ipLength = 500 },
            SteerCase("an IP length past the frame over IPv6", .v6) { $0.ipLength = 500 },
            SteerCase("an IP length without room for a UDP header") { $0.ipLength = 7 },
            SteerCase("a UDP length past its packet") { $0.udpLength = 100 },
            SteerCase("a UDP length past its packet over IPv6", .v6) { $0.udpLength = 100 },
            SteerCase("a UDP length below its header") { $0.udpLength = 7 },
            SteerCase("an IPv4 header with a wrong checksum", frame: badSum),
            SteerCase("an Ethernet header alone", frame: Array(v4[..<14])),
            SteerCase("a UDP header cut short", frame: Array(v4[..<41])),
            SteerCase("a UDP header cut short over IPv6", frame: Array(v6[..<61])),
        ]
    }

    private static func fragments() throws -> [SteerCase] {
        func fragment(_ range: Range<Int>, isLast: Bool) -> (inout Datagram) -> Void {
            {
                $0.payload = [UInt8](repeating: 7, count: 100)
                $0.fragment = .init(identification: 7, range: range, isLast: isLast)
            }
        }
        return try [
            SteerCase("the first fragment", .v4, fragment(0..<48, isLast: false)),
            SteerCase("a later fragment", .v4, fragment(48..<108, isLast: true)),
            SteerCase("the first fragment over IPv6", .v6, fragment(0..<48, isLast: false)),
            SteerCase("a later fragment over IPv6", .v6, fragment(48..<108, isLast: true)),
        ]
    }

    /// RFC 1122, section 3.2.1.3; RFC 4291; RFC 8200.
    private static func refusedByHosts() throws -> [SteerCase] {
        func from(_ address: String) -> (inout Datagram) throws -> Void {
            { $0.source = Endpoint(try .parsed(address), port: 40000) }
        }
        return try [
            SteerCase("no checksum over IPv6, where it is required", .v6) { $0.checksum = .absent },
            SteerCase("a source route") { $0.options = [137, 7, 4, 10, 0, 0, 1, 0] },
            SteerCase("a source route that goes on", .v6) {
                $0.extensions = [.routing(segmentsLeft: 1)]
            },
            SteerCase("a datagram from a multicast address", .v4, from("224.0.0.1")),
            SteerCase("a datagram from no address", .v4, from("0.0.0.0")),
            SteerCase("a datagram from a loopback address", .v4, from("127.0.0.1")),
            SteerCase("a datagram from the loopback address over IPv6", .v6, from("::1")),
        ]
    }
}
