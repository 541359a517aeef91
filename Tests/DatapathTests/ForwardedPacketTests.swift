// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("Packets that tc_fanout forwards", .tags(.network), .loadsPrograms, .takesFanout)
struct ForwardedPacketTests {
    @Test("leaves for its receiver, one hop older, with correct checksums", arguments: try cases())
    func forwarded(packet: PacketCase) throws {
        try packet.check()
    }

    /// Without tags in the frame: for those the kernel corrects the sum by the length of the link header, which a
    /// test run does not set.
    @Test(
        "keeps the packet sum of the NIC correct",
        .enabled(if: TCFixture.checksSums, "NOT TESTED: such sums need Linux 6.11"),
        arguments: try plain() + odd() + checksums())
    func summed(packet: PacketCase) throws {
        try packet.check(isSummed: true)
    }

    static func cases() throws -> [PacketCase] { try plain() + tagged() + odd() + checksums() }

    private static func plain() throws -> [PacketCase] {
        try [
            .forwarded("a plain datagram over IPv4"),
            .forwarded("a plain datagram over IPv6", .v6),
            .forwarded("a datagram without payload") { $0.payload = [] },
            .forwarded("a datagram without payload over IPv6", .v6) { $0.payload = [] },
            .forwarded("a datagram of the listener's maximum size") {
                $0.payload = [UInt8](repeating: 7, count: 1000)
            },
            .forwarded("a datagram with TTL 2") { $0.timeToLive = 2 },
            .forwarded("a datagram with TTL 255") { $0.timeToLive = 255 },
            .forwarded("a datagram with hop limit 2", .v6) { $0.timeToLive = 2 },
            .forwarded("a datagram with a traffic class") { $0.trafficClass = 0xb8 },
            .forwarded("a datagram with a traffic class over IPv6", .v6) { $0.trafficClass = 0xb8 },
            .forwarded("a datagram from source port 0") {
                $0.source = Endpoint($0.source.address, port: 0)
            },
            .forwarded("a datagram in a frame padded to 60 bytes") {
                $0.payload = [1]
                $0.padding = 17
            },
        ]
    }

    private static func tagged() throws -> [PacketCase] {
        try [
            .forwarded("a datagram with a priority tag") { $0.tags = [0x8100] },
            .forwarded("a datagram with a priority tag over IPv6", .v6) { $0.tags = [0x8100] },
            .forwarded("a datagram with two priority tags") { $0.tags = [0x88a8, 0x8100] },
            .forwarded("a datagram with two priority tags over IPv6", .v6) {
                $0.tags = [0x88a8, 0x8100]
            },
        ]
    }

    private static func odd() throws -> [PacketCase] {
        let timestamps: [UInt8] = [68, 12, 5, 0] + [UInt8](repeating: 0, count: 8)
        return try [
            .forwarded("a datagram with the router alert option") { $0.options = [148, 4, 0, 0] },
            .forwarded("a datagram with padding, timestamps and an end of options") {
                $0.options = [1] + timestamps + [0, 131, 137]
            },
            .forwarded("a datagram with 40 bytes of options") {
                $0.options = [7, 39, 4] + [UInt8](repeating: 0, count: 36) + [0]
            },
            .forwarded("a datagram with hop-by-hop options", .v6) { $0.extensions = [.hopByHop] },
            .forwarded("a datagram with destination options", .v6) {
                $0.extensions = [.destinationOptions]
            },
            .forwarded("a datagram whose source route has ended", .v6) {
                $0.extensions = [.routing(segmentsLeft: 0)]
            },
            .forwarded("a datagram with three extension headers", .v6) {
                $0.extensions = [.hopByHop, .destinationOptions, .destinationOptions]
            },
            .forwarded("a whole datagram with a fragment header (RFC 6946)", .v6) {
                $0.fragment = Datagram.Fragment(
                    identification: 9, range: 0..<$0.udp.count, isLast: true)
            },
            .forwarded("a datagram shorter than its packet, as the stack takes it") {
                $0.ipLength = 8 + $0.payload.count + 5
                $0.padding = 5
            },
        ]
    }

    private static func checksums() throws -> [PacketCase] {
        try [
            .forwarded("a datagram without a checksum has none afterwards") {
                $0.checksum = .absent
            },
            .forwarded("a checksum that comes to 0 is sent as 0xffff") {
                $0.payload = try payload(summingToZeroFor: $0, at: receiver(.v4))
            },
            .forwarded("a checksum that comes to 0 is sent as 0xffff over IPv6", .v6) {
                $0.payload = try payload(summingToZeroFor: $0, at: receiver(.v6))
            },
            .forwarded("a checksum of 0xffff is updated as any other") {
                $0.payload = try payload(summingToZeroFor: $0, at: $0.destination)
            },
        ]
    }

    private static func receiver(_ family: IPAddress.Family) throws -> Endpoint {
        try PacketCase.receiver(family)
    }

    /// A payload that makes the checksum of the datagram to `destination` 0.
    private static func payload(summingToZeroFor datagram: Datagram, at destination: Endpoint)
        throws -> [UInt8]
    {
        var there = datagram.led(to: destination)
        there.payload = [0, 0]
        there.payload = Array(there.udp[6...7])
        // With the checksum added, the words sum to 0xffff, whose complement is 0.
        try #require(there.udp[6...7] == [0xff, 0xff])
        return there.payload
    }
}
