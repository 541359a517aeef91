// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import GoldenVectors
import Testing
import Tiers

@Suite("Garbage in tc_fanout", .tags(.network), .loadsPrograms, .takesFanout)
struct MutationTests {
    @Test("5000 mutated packets: each has the right verdict, and is accounted for")
    func some() throws { try run(Garbage.some, seed: 1) }

    @Test(
        "20 000 mutated packets: each has the right verdict, and is accounted for",
        .tags(.exhaustive), arguments: [2, 3])
    func many(seed: UInt64) throws { try run(Garbage.many, seed: seed) }

    private static let longest = 80

    private func run(_ count: Int, seed: UInt64) throws {
        let fixture = try TCFixture.withBothFamilies(maxPacketSize: UInt32(Self.longest))
        let originals = try [IPAddress.Family.v4, .v6].flatMap {
            try Garbage.kinds(of: PacketCase.datagram($0))
        }
        var random = SplitMix64(seed: seed)
        var before = Counts(words: [UInt64](repeating: 0, count: Int(LB_COUNTERS.rawValue)))
        var healthStatuses: [TCVerdict: Int] = [:]
        for number in 0..<count {
            let frame = Garbage.mutate(originals[number % originals.count], &random)
            let comment: Comment = "packet \(number): \(frame)"
            let outcome: TCFixture.Outcome
            do {
                outcome = try fixture.run(frame)
            } catch {
                // A test run refuses an IP frame that is shorter than an IP header.
                try #require(frame.count < 14 + 40, "\(error)")
                continue
            }
            let now = try fixture.listenerCounts(0) + fixture.listenerCounts(1)
            let step = now - before
            before = now
            let verdict = try #require(outcome.verdict)
            healthStatuses[verdict, default: 0] += 1
            #expect(step.isBalanced && step.received <= 1, comment)
            if verdict == .passed {
                #expect(outcome.output == frame && step.received == 0, comment)
            }
            try check(frame, outcome, step, comment)
        }
        // Enough packets were still valid.
        for verdict in [TCVerdict.passed, .redirected, .dropped] {
            #expect(healthStatuses[verdict, default: 0] > count / 50, "\(healthStatuses)")
        }
    }

    private func check(
        _ frame: [UInt8], _ outcome: TCFixture.Outcome, _ step: Counts, _ comment: Comment
    ) throws {
        let services = try [TCFixture.service4, TCFixture.service6].map(Endpoint.init(parsing:))
        guard let reading = FrameReading(frame, mac: [0, 0, 0, 0, 0, 0]), !reading.isFromLoopback
        else {
            #expect(outcome.verdict == .passed, comment)
            return
        }
        guard reading.kind != .laterFragment else {
            #expect(step.received == 0, comment)
            return
        }
        guard services.contains(reading.destination) else {
            #expect(outcome.verdict == .passed, comment)
            return
        }
        // When a later fragment came first, the datagram goes to the stack.
        if reading.kind == .firstFragment, outcome.verdict == .passed { return }
        #expect(step.received == 1, comment)
        #expect(step.receivedBytes == UInt64(reading.statedBytes), comment)
        if reading.statedBytes > Self.longest {
            #expect(outcome.verdict == .dropped && step[.oversize] == 1, comment)
        } else if reading.timeToLive <= 1 {
            #expect(outcome.verdict == .dropped && step[.ttlExpired] == 1, comment)
        } else {
            #expect(outcome.verdict == .redirected && step.forwarded == 1, comment)
            let receivers = try Receiver.three(reading.source.address.family).map(\.endpoint)
            try Garbage.expect(
                outcome.output, of: frame, reading, from: [reading.source], to: receivers, comment)
        }
    }

    @Test("noise passes")
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
}
