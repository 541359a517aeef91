// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

/// lb_readdress_frame, as the workers of AF_XDP compile it, with the packets of the tests of tc_fanout.
@Suite("A frame in memory is rewritten for its receiver", .tags(.network))
struct FrameTests {
    @Test("one hop older, with correct checksums", arguments: try ForwardedPacketTests.cases())
    func led(packet: PacketCase) throws {
        guard case .forwarded(let wanted) = packet.fate else {
            Issue.record("\(packet.testDescription) is not forwarded")
            return
        }
        let (family, led) = try #require(lead(packet.frame))
        #expect(led.count >= wanted.count)
        #expect(Array(led.prefix(12)) == Self.link)
        #expect(Array(led.dropFirst(12)) == Array(wanted.dropFirst(12)))
        #expect(family == (wanted[12] == 0x86 ? .v6 : .v4))
    }

    /// Addresses and checksums, bit by bit at the ends of their ranges.
    @Test("for every value of the sums", arguments: [IPAddress.Family.v4, .v6])
    func sums(family: IPAddress.Family) throws {
        for word in stride(from: UInt16(0), to: .max, by: 61) {
            var packet = try PacketCase.datagram(family)
            packet.payload = bytes(word)
            let (_, led) = try #require(lead(packet.frame))
            let wanted = packet.led(to: try PacketCase.receiver(family)).frame
            guard led.dropFirst(12) != wanted.dropFirst(12) else { continue }
            Issue.record("payload \(word): \(led) instead of \(wanted)")
            return
        }
    }

    @Test(
        "an offloaded checksum is completed, for any length, and a complete one is kept",
        arguments: [IPAddress.Family.v4, .v6])
    func completed(family: IPAddress.Family) throws {
        for length in 0...70 {
            var packet = try PacketCase.datagram(family)
            packet.payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ length) }
            let right = packet.frame
            let udp = right.count - length - 8
            let made = try #require(completed(right))
            #expect(made == Array(right[udp + 6..<udp + 8]), "length \(length)")
            // The sum of the pseudo header alone, as CHECKSUM_PARTIAL has it.
            let addresses = family == .v4 ? right[udp - 8..<udp] : right[udp - 32..<udp]
            let sum = internetChecksum(Array(addresses) + [0, 17] + bytes(UInt16(length + 8)))
            var partial = right
            partial.replaceSubrange(udp + 6..<udp + 8, with: bytes(~sum))
            #expect(try #require(completed(partial)) == made, "length \(length)")
        }
    }

    /// The UDP checksum of the rewritten frame.
    private func completed(_ frame: [UInt8]) -> [UInt8]? {
        var packet = lb_packet()
        return frame.withUnsafeBufferPointer { raw in
            let (start, count) = (raw.baseAddress!, UInt32(raw.count))
            guard
                lb_parse_datagram(start, start + Int(count), count, &packet) == LB_PARSE_DATAGRAM
            else { return nil }
            lb_complete_udp(start, &packet)
            return withUnsafeBytes(of: packet.udp_check_be) { Array($0) }
        }
    }

    private static let link: [UInt8] = [2, 0, 0, 0, 0, 5, 2, 0, 0, 0, 0, 6]

    /// The frame rewritten for the receiver of its family; nil unless it is a whole datagram.
    private func lead(_ frame: [UInt8]) -> (family: IPAddress.Family, led: [UInt8])? {
        var frame = frame
        var packet = lb_packet()
        let count = UInt32(frame.count)
        return frame.withUnsafeMutableBufferPointer { bytes in
            let start = bytes.baseAddress!
            guard
                lb_parse_datagram(start, start + Int(count), count, &packet) == LB_PARSE_DATAGRAM
            else { return nil }
            let family: IPAddress.Family = packet.is_v6 == 0 ? .v4 : .v6
            guard let endpoint = try? PacketCase.receiver(family) else { return nil }
            var receiver = lb_receiver()
            receiver.address = endpoint.address.datapath
            receiver.port = endpoint.port
            receiver.is_v6 = packet.is_v6
            var link = lb_link()
            withUnsafeMutableBytes(of: &link) { $0.copyBytes(from: Self.link) }
            let first = Int(lb_readdress_frame(start, &packet, &receiver, &link))
            return (family, Array(bytes[first...]))
        }
    }
}
