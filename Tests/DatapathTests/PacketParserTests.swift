// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import GoldenVectors
import Testing
import Tiers

/// lb_parse_frame, compiled for user space.
@Suite("The packet parser", .tags(.network))
struct PacketParserTests {
    private func parse(
        _ frame: [UInt8], atHand: Int? = nil
    ) -> (kind: lb_parse, packet: lb_packet) {
        var packet = lb_packet()
        // A copy of exactly its size, so that a read past the end leaves the allocation.
        let kind = Array(frame[..<(atHand ?? frame.count)]).withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return LB_PARSE_SHORT }
            return lb_parse_datagram(start, start + bytes.count, UInt32(frame.count), &packet)
        }
        return (kind, packet)
    }

    @Test(
        "finds the flow, the payload and the offsets behind all other headers",
        arguments: [IPAddress.Family.v4, .v6])
    func fields(family: IPAddress.Family) throws {
        for tags in [[], [0x8100], [0x88a8, 0x8100]] as [[UInt16]] {
            for isLong in [false, true] {
                var datagram = try PacketCase.datagram(family)
                datagram.tags = tags
                datagram.timeToLive = 9
                datagram.trafficClass = 0xb8
                if isLong { datagram.options = [148, 4, 0, 0] }
                if isLong { datagram.extensions = [.hopByHop, .destinationOptions] }
                let (kind, packet) = parse(datagram.frame)
                let header = family == .v4 ? (isLong ? 24 : 20) : (isLong ? 64 : 40)
                #expect(kind == LB_PARSE_DATAGRAM)
                #expect(Int(packet.tags) == tags.count)
                #expect(Int(packet.ip) == 14 + 4 * tags.count)
                #expect(Int(packet.udp) == Int(packet.ip) + header)
                #expect(packet.is_v6 == (family == .v6 ? 1 : 0))
                #expect(packet.ttl == 9 && packet.traffic_class == 0xb8 && packet.fragment == 0)
                #expect(Int(packet.payload) == datagram.payload.count)
                #expect(endpoint(packet.flow.source, packet.flow.source_port) == datagram.source)
                #expect(
                    endpoint(packet.flow.destination, packet.flow.destination_port)
                        == datagram.destination)
            }
        }
    }

    @Test("tells first fragments from later ones", arguments: [IPAddress.Family.v4, .v6])
    func fragments(family: IPAddress.Family) throws {
        var datagram = try PacketCase.datagram(family)
        datagram.fragment = .init(identification: 0x1234, range: 0..<16, isLast: false)
        let first = parse(datagram.frame)
        #expect(first.kind == LB_PARSE_FIRST && first.packet.fragment_id == 0x1234)
        #expect(Int(first.packet.payload) == datagram.payload.count)
        datagram.fragment = .init(identification: 0x1234, range: 16..<24, isLast: true)
        let later = parse(datagram.frame)
        #expect(later.kind == LB_PARSE_LATER && later.packet.fragment_id == 0x1234)
        #expect(later.packet.flow.destination_port == 0)
    }

    @Test("asks for missing headers, and for no more bytes")
    func short() throws {
        var frames = try [PacketCase.datagram(.v4), PacketCase.datagram(.v6)]
        frames[0].options = [148, 4, 0, 0]
        frames[1].extensions = [.hopByHop, .destinationOptions]
        for datagram in frames {
            let frame = datagram.frame
            let headers = frame.count - datagram.payload.count
            for atHand in 0..<headers {
                #expect(parse(frame, atHand: atHand).kind == LB_PARSE_SHORT, "\(atHand)")
            }
            #expect(parse(frame, atHand: headers).kind == LB_PARSE_DATAGRAM)
        }
    }

    @Test("a frame that ends within its headers is not a datagram, wherever it ends")
    func runts() throws {
        for family in [IPAddress.Family.v4, .v6] {
            let frame = try PacketCase.datagram(family).frame
            for length in 0..<frame.count {
                let kind = parse(Array(frame[..<length])).kind
                #expect(kind == LB_PARSE_OTHER || kind == LB_PARSE_SHORT, "\(length)")
            }
        }
    }

    @Test("100 000 mutated frames: every datagram found lies within its frame")
    func mutated() throws {
        var random = SplitMix64(seed: 5)
        var datagrams = 0
        for number in 0..<100_000 {
            var datagram = try PacketCase.datagram(number % 2 == 0 ? .v4 : .v6)
            if number % 3 == 0 { datagram.extensions = [.destinationOptions] }
            var frame = datagram.frame
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 12..<frame.count, using: &random)
                frame[place] = UInt8(truncatingIfNeeded: random.next())
            }
            let (kind, packet) = parse(frame)
            if kind == LB_PARSE_DATAGRAM {
                datagrams += 1
                #expect(Int(packet.udp) + 8 + Int(packet.payload) <= frame.count, "\(frame)")
            }
        }
        #expect(datagrams > 1000)
    }

    private func endpoint(_ address: lb_addr, _ port: UInt16) -> Endpoint {
        Endpoint(IPAddress(high: address.high, low: address.low), port: port)
    }
}
