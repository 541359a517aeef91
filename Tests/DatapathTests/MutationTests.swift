// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import GoldenVectors
import Testing
import Tiers

@Suite("Garbage in tc_fanout", .tags(.network), .loadsPrograms, .takesFanout)
struct MutationTests {
    @Test("5000 mutated packets: each goes on untouched or is accounted for", arguments: [1, 2])
    func mutated(seed: UInt64) throws {
        let fixture = try TCFixture.withBothFamilies(maxPacketSize: 80)
        let originals = try Self.originals()
        var random = SplitMix64(seed: seed)
        var before: UInt64 = 0
        var verdicts: [TCVerdict: Int] = [:]
        for number in 0..<5000 {
            let original = originals[number % originals.count]
            let frame = Self.mutate(original, &random)
            let outcome: TCFixture.Outcome
            do {
                outcome = try fixture.run(frame)
            } catch {
                // The kernel takes no frame of IP that is shorter than an IP header for a test.
                try #require(frame.count < 14 + 40, "\(error)")
                continue
            }
            let counts = try [fixture.listenerCounts(0), fixture.listenerCounts(1)]
            let received = counts.map(\.received).reduce(0, +)
            let verdict = try #require(outcome.verdict)
            verdicts[verdict, default: 0] += 1
            #expect(counts.allSatisfy { $0.isBalanced }, "packet \(number): \(frame)")
            if verdict == .passed {
                #expect(outcome.output == frame && received == before, "packet \(number): \(frame)")
            }
            before = received
        }
        // The packets were not so bad that they tested nothing.
        for verdict in [TCVerdict.passed, .redirected, .dropped] {
            #expect(verdicts[verdict, default: 0] > 50, "\(verdicts)")
        }
    }

    @Test("noise is left alone")
    func noise() throws {
        let fixture = try TCFixture.withBothFamilies()
        var random = SplitMix64(seed: 3)
        for _ in 0..<2000 {
            let length = Int.random(in: 54...200, using: &random)
            var frame = (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            frame.replaceSubrange(0..<6, with: [0, 0, 0, 0, 0, 0])
            let type: [UInt8] = random.next() % 2 == 0 ? [8, 0] : [0x86, 0xdd]
            frame.replaceSubrange(12..<14, with: type)
            #expect(try fixture.run(frame) == .init(verdict: .passed, output: frame))
        }
    }

    private static func originals() throws -> [[UInt8]] {
        try [IPAddress.Family.v4, .v6].flatMap { family in
            var frames: [[UInt8]] = []
            for variant in 0..<6 {
                var packet = try PacketCase.datagram(family)
                switch variant {
                case 1: packet.tags = [0x88a8, 0x8100]
                case 2: packet.options = [1, 148, 4, 0, 0, 7, 3, 4]
                case 3: packet.extensions = [.hopByHop, .routing(segmentsLeft: 0)]
                case 4:
                    packet.fragment = Datagram.Fragment(
                        identification: 4, range: 0..<24, isLast: false)
                case 5: packet.payload = [UInt8](repeating: 1, count: 90)
                default: break
                }
                frames.append(packet.frame)
            }
            return frames
        }
    }

    /// One to three of: a bit turned, a byte set, bytes cut off, bytes added. An IPv4 header is made to
    /// add up again half of the time, so that what is behind its checksum is tested too.
    private static func mutate(_ original: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
        var frame = original
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let place = Int.random(in: 12..<min(frame.count, 90), using: &random)
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
}
