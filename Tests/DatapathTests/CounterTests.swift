// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

@Suite("What tc_fanout counts", .tags(.network), .loadsPrograms, .takesFanout)
struct CounterTests {
    @Test("listeners and receivers have rows of their own, in datagrams and bytes of payload")
    func rows() throws {
        let fixture = try TCFixture.withBothFamilies()
        try onOneCPU {
            for family in [IPAddress.Family.v4, .v6] {
                var packet = try PacketCase.datagram(family)
                for number in 1...6 {
                    packet.payload = [UInt8](repeating: 1, count: number * 10)
                    _ = try fixture.run(packet)
                }
            }
        }
        for listener in 0..<2 {
            let counts = try fixture.listenerCounts(UInt32(listener))
            #expect(counts.received == 6 && counts.receivedBytes == 210)
            #expect(counts.forwarded == 6 && counts.forwardedBytes == 210)
            #expect(counts.dropped == 0)
            let receivers = try (0..<3).map {
                try fixture.receiverCounts(UInt32(3 * listener + $0))
            }
            #expect(receivers.map(\.forwarded) == [2, 2, 2])
            #expect(receivers.map(\.forwardedBytes).reduce(0, +) == 210)
            #expect(receivers.allSatisfy { $0.received == 0 && $0.dropped == 0 })
        }
    }

    @Test("without a receiver a datagram is dropped, and charged to no receiver")
    func noReceiver() throws {
        let fixture = try TCFixture.withBothFamilies()
        try fixture.fill(.sourceIP, [])
        #expect(try fixture.run(PacketCase.datagram(.v4)).verdict == .dropped)
        let counts = try fixture.listenerCounts()
        #expect(counts.received == 1 && counts[.noHealthy] == 1 && counts.isBalanced)
        #expect(try (0..<6).allSatisfy { try fixture.receiverCounts($0).dropped == 0 })
    }

    @Test("a datagram for a receiver of the other family counts as that receiver's drop")
    func familyMismatch() throws {
        let fixture = try TCFixture.withBothFamilies()
        try fixture.fill(.roundRobin, Receiver.three(.v6))
        #expect(try fixture.run(PacketCase.datagram(.v4)).verdict == .dropped)
        let counts = try fixture.listenerCounts()
        #expect(counts.received == 1 && counts[.familyMismatch] == 1 && counts.isBalanced)
        let charged = try (0..<3).map { try fixture.receiverCounts($0)[.familyMismatch] }
        #expect(charged.reduce(0, +) == 1)
    }

    @Test(
        "a super-packet counts as its datagrams, with a segment count or without",
        arguments: [5, 0] as [UInt32], [IPAddress.Family.v4, .v6])
    func superPacket(segments: UInt32, family: IPAddress.Family) throws {
        let fixture = try TCFixture.withBothFamilies(maxPacketSize: 100)
        var packet = try PacketCase.datagram(family)
        packet.payload = [UInt8](repeating: 1, count: 450)
        let outcome = try fixture.run(packet.frame, segmentBytes: 100, segments: segments)
        let receiver = try Receiver.three(family).map(\.endpoint).sorted()[0]
        #expect(outcome == .init(verdict: .redirected, output: packet.led(to: receiver).frame))
        let counts = try fixture.listenerCounts(family == .v4 ? 0 : 1)
        #expect(counts.received == 5 && counts.forwarded == 5)
        #expect(counts.receivedBytes == 450 && counts.forwardedBytes == 450)
    }

    @Test("a super-packet of oversize datagrams is dropped, and each datagram is counted")
    func longSuperPacket() throws {
        let fixture = try TCFixture.withBothFamilies(maxPacketSize: 99)
        var packet = try PacketCase.datagram(.v4)
        packet.payload = [UInt8](repeating: 1, count: 450)
        let outcome = try fixture.run(packet.frame, segmentBytes: 100, segments: 5)
        #expect(outcome.verdict == .dropped)
        let counts = try fixture.listenerCounts()
        #expect(counts.received == 5 && counts[.oversize] == 5 && counts.isBalanced)
    }

    @Test("a listener ignores datagrams of other interfaces")
    func otherInterface() throws {
        let fixture = try TCFixture.withBothFamilies()
        let packet = try PacketCase.datagram(.v4).frame
        let outcome = try fixture.run(packet, on: TCFixture.interface + 1)
        #expect(outcome == .init(verdict: .passed, output: packet))
        #expect(try fixture.listenerCounts().received == 0)
    }

    @Test("a listener for every address serves every unicast address on its port")
    func everyAddress() throws {
        let fixture = try TCFixture(servesAny: true)
        try fixture.serve(Endpoint(parsing: TCFixture.service4), any: true)
        try fixture.fill(.roundRobin, [Receiver("10.1.0.1:5140")])
        for (address, verdict) in [
            ("203.0.113.9", TCVerdict.redirected), ("192.0.2.1", .redirected),
            ("224.0.0.251", .passed), ("255.255.255.255", .passed), ("0.0.0.0", .passed),
        ] {
            var packet = try PacketCase.datagram(.v4)
            packet.destination = Endpoint(try .parsed(address), port: 514)
            #expect(try fixture.run(packet).verdict == verdict, "\(address)")
        }
        var other = try PacketCase.datagram(.v4)
        other.destination = Endpoint(other.destination.address, port: 515)
        #expect(try fixture.run(other).verdict == .passed)
        #expect(try fixture.listenerCounts().received == 2)
    }

    @Test("an IPv6 packet to an IPv4-mapped address does not match the IPv4 listener")
    func mapped() throws {
        let fixture = try TCFixture.withBothFamilies()
        var packet = try PacketCase.datagram(.v6)
        packet.destination = try Endpoint(parsing: TCFixture.service4)
        var frame = try PacketCase.datagram(.v6).frame
        frame.replaceSubrange(
            38..<54,
            with: bytes(packet.destination.address.high)
                + bytes(packet.destination.address.low))
        #expect(try fixture.run(frame) == .init(verdict: .passed, output: frame))
        #expect(try fixture.listenerCounts().received == 0)
    }
}
