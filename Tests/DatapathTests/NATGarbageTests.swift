// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import FanoutCore
import GoldenVectors
import Testing
import Tiers

@Suite("Garbage in xdp_nat", .tags(.network), .loadsPrograms, .takesNAT)
struct NATGarbageTests {
    @Test("5000 mutated packets: each is left as it came or accounted for", arguments: [1, 2])
    func mutated(seed: UInt64) throws {
        let fixture = try Self.fixture()
        let originals = try Self.originals()
        var random = SplitMix64(seed: seed)
        var before = try Self.events(fixture)
        var verdicts: [XDPVerdict: Int] = [:]
        for number in 0..<5000 {
            let frame = Self.mutate(originals[number % originals.count], &random)
            let outcome = try fixture.run(frame)
            let verdict = try #require(outcome.verdict)
            verdicts[verdict, default: 0] += 1
            let events = try Self.events(fixture)
            // An answer to a new client counts as one, and that the association was answered.
            #expect((1...2).contains(events - before), "packet \(number): \(frame)")
            before = events
            if verdict == .pass {
                #expect(outcome.output == frame, "packet \(number): \(frame)")
            }
            #expect(outcome.output.count == frame.count, "packet \(number): \(frame)")
        }
        for listener in 0..<2 as Range<UInt32> {
            for direction in NATFixture.Direction.allCases {
                #expect(try fixture.counts(listener, direction).common.isBalanced)
            }
        }
        // The packets were not so bad that they tested nothing.
        for verdict in [XDPVerdict.pass, .transmit, .drop] {
            #expect(verdicts[verdict, default: 0] > 50, "\(verdicts)")
        }
        #expect(verdicts.count == 3)
    }

    @Test("noise is left alone")
    func noise() throws {
        let fixture = try Self.fixture()
        var random = SplitMix64(seed: 3)
        for _ in 0..<2000 {
            let length = Int.random(in: 14...200, using: &random)
            var frame = (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            frame.replaceSubrange(0..<6, with: [0, 0, 0, 0, 0, 0])
            frame.replaceSubrange(12..<14, with: random.next() % 2 == 0 ? [8, 0] : [0x86, 0xdd])
            #expect(try fixture.run(frame) == .init(verdict: .pass, output: frame))
        }
    }

    private static func fixture() throws -> NATFixture {
        let fixture = try NATFixture()
        for (number, family) in NATCase.families.enumerated() {
            try fixture.listen(
                UInt32(number), on: ["\(NATCase.service(family))"],
                servers: ["\(NATCase.server(family))"])
        }
        return fixture
    }

    /// All rows together.
    private static func events(_ fixture: NATFixture) throws -> UInt64 {
        try (0..<2 as Range<UInt32>).flatMap { listener in
            try NATFixture.Direction.allCases.map { try fixture.counts(listener, $0).events }
        }.reduce(try fixture.nobody().events, +)
    }

    private static func originals() throws -> [[UInt8]] {
        try NATCase.families.flatMap { family in
            var frames: [[UInt8]] = []
            for variant in 0..<6 {
                var packet = try variant % 2 == 0 ? NATCase.request(family) : NATCase.answer(family)
                switch variant {
                case 1: packet.tags = [0x88a8, 0x8100]
                case 2: packet.options = [1, 148, 4, 0, 0, 7, 3, 4]
                case 3: packet.extensions = [.hopByHop, .routing(segmentsLeft: 0)]
                case 4: packet.fragment = .init(identification: 4, range: 0..<24, isLast: false)
                default: break
                }
                frames.append(packet.frame)
            }
            let seen = try Datagram(
                from: "\(NATCase.client(family))", to: "\(NATCase.server(family))")
            let error = try IPPacket.error(
                family == .v4 ? 3 : 1, code: 1, from: "\(NATCase.server(family).address)",
                to: "\(NATCase.client(family).address)", quoting: seen.frame)
            return frames + [error.frame]
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
