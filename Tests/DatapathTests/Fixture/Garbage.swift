// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import GoldenVectors
import Testing

/// Frames of every kind, and random mutations of them.
enum Garbage {
    /// The number of frames in a normal run, and in a run of minutes.
    static let some = 5000
    static let many = 20_000

    /// A valid datagram, and one frame of each other kind that a program may receive.
    static func kinds(of datagram: Datagram) throws -> [[UInt8]] {
        var frames: [[UInt8]] = []
        for variant in 0..<14 {
            var packet = datagram
            switch variant {
            case 1: packet.tags = [0x88a8, 0x8100]
            case 2: (packet.tags, packet.vlans) = ([0x8100], [7])
            case 3: packet.options = [1, 148, 4, 0, 0, 7, 3, 4]
            case 4: packet.extensions = [.hopByHop, .routing(segmentsLeft: 0)]
            case 5: packet.fragment = .init(identification: 4, range: 0..<24, isLast: false)
            case 6: packet.fragment = .init(identification: 5, range: 24..<40, isLast: true)
            case 7: packet.payload = [UInt8](repeating: 1, count: 90)
            case 8: packet.ipLength = packet.udp.count + 9
            case 9: packet.udpLength = packet.udp.count + 9
            case 10: packet.ethernetDestination = [2, 0, 0, 0, 0, 0x77]
            case 11: packet.timeToLive = 1
            case 12: packet.checksum = .absent
            default: break
            }
            frames.append(packet.frame)
        }
        frames.append(try error(about: datagram).frame)
        return frames
    }

    /// An ICMP error about a datagram, from its destination.
    private static func error(about datagram: Datagram) throws -> IPPacket {
        var error = try IPPacket.error(
            datagram.isV6 ? 1 : 3, code: 1, from: "\(datagram.destination.address)",
            to: "\(datagram.source.address)", quoting: datagram.frame)
        error.ethernetDestination = datagram.ethernetDestination
        return error
    }

    /// Applies one to three mutations: flip a bit, set a byte, cut bytes, add bytes; sometimes none. In half of the
    /// cases the IPv4 header checksum is corrected, so that the code behind its check is tested too.
    static func mutate(_ original: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        var frame = original
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let first = random.next() % 8 == 0 ? 0 : 12
            let place = Int.random(in: first..<min(frame.count, 90), using: &random)
            switch random.next() % 8 {
            case 0: frame.removeLast(min(Int(random.next() % 40), frame.count - 34))
            case 1: frame += [UInt8](repeating: 0x5a, count: Int(random.next() % 40))
            case 2...4: frame[place] ^= 1 << UInt8(random.next() % 8)
            default: frame[place] = UInt8(truncatingIfNeeded: random.next())
            }
        }
        let header = 14..<14 + Int(frame[14] & 15) * 4
        if frame[12] == 8, header.count >= 20, header.upperBound <= frame.count,
            random.next() % 2 == 0
        {
            frame.replaceSubrange(24..<26, with: [0, 0])
            frame.replaceSubrange(24..<26, with: bytes(internetChecksum(Array(frame[header]))))
        }
        return frame
    }

    /// Compares a forwarded datagram with the received one.
    static func expect(
        _ output: [UInt8], of frame: [UInt8], _ reading: FrameReading, from source: [Endpoint],
        to destinations: [Endpoint], _ comment: Comment
    ) throws {
        let left = try #require(FrameReading(output, mac: nil), comment)
        #expect(left.timeToLive == reading.timeToLive - 1, comment)
        #expect(left.kind == reading.kind, comment)
        #expect(source.contains(left.source) && destinations.contains(left.destination), comment)
        #expect(left.payload.elementsEqual(reading.payload), comment)
        #expect(left.isSumRight == reading.isSumRight, comment)
    }
}
