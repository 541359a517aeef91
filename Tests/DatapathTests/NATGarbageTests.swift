// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import FanoutCore
import GoldenVectors
import Testing
import Tiers

@Suite("Garbage in xdp_nat", .tags(.network), .loadsPrograms, .takesNAT)
struct NATGarbageTests {
    @Test(
        "5000 mutated packets: each has the right verdict, and is accounted for",
        arguments: [false, true])
    func some(inStack: Bool) throws { try run(Garbage.some, seed: 1, isInStack: inStack) }

    @Test(
        "20 000 mutated packets: each has the right verdict, and is accounted for",
        .tags(.exhaustive), arguments: [false, true])
    func many(inStack: Bool) throws { try run(Garbage.many, seed: 2, isInStack: inStack) }

    /// A packet's outcome, and the counters it added to.
    private struct Result {
        let outcome: NATFixture.Outcome
        let steps: [NATFixture.Direction: NATCounts]
        let comment: Comment
    }

    private func run(_ count: Int, seed: UInt64, isInStack: Bool) throws {
        let fixture = try Self.fixture(isInStack)
        let originals = try NATCase.families.flatMap { family in
            try Garbage.kinds(of: NATCase.request(family))
                + Garbage.kinds(of: NATCase.answer(family))
        }
        var random = SplitMix64(seed: seed)
        var before = try Self.rows(fixture)
        var healthStatuses: [XDPVerdict: Int] = [:]
        for number in 0..<count {
            let frame = Garbage.mutate(originals[number % originals.count], &random)
            let outcome = try fixture.run(frame)
            let now = try Self.rows(fixture)
            let steps = zip(now, before).map { $0 - $1 }
            before = now
            let comment: Comment = "packet \(number): \(outcome.verdict as Any) \(frame)"
            let verdict = try #require(outcome.verdict)
            healthStatuses[verdict, default: 0] += 1
            // A reply to a new client counts as a packet and as an answered association.
            #expect((1...2).contains(steps.map(\.events).reduce(0, +)), comment)
            #expect(steps.dropLast().allSatisfy { $0.common.isBalanced }, comment)
            #expect(outcome.output.count == frame.count, comment)
            if verdict == .pass { #expect(outcome.output == frame, comment) }
            let result = Result(
                outcome: outcome, steps: [.ingress: steps[0], .egress: steps[1]], comment: comment)
            try check(frame, result)
        }
        // Enough packets were still valid.
        for verdict in [XDPVerdict.pass, .transmit, .drop] {
            #expect(healthStatuses[verdict, default: 0] > count / 50, "\(healthStatuses)")
        }
        #expect(healthStatuses.count == 3)
    }

    /// Malformed frames, and those without a datagram, are covered by the tests of each kind.
    private func check(_ frame: [UInt8], _ result: Result) throws {
        let (outcome, comment) = (result.outcome, result.comment)
        guard frame[..<6].allSatisfy({ $0 == 0 }) else {
            #expect(outcome.verdict == .pass, comment)
            return
        }
        guard let reading = FrameReading(frame, mac: nil), !reading.isFromLoopback,
            reading.kind == .datagram
        else { return }
        let family = reading.source.address.family
        let (service, server) = (try NATCase.service(family), try NATCase.server(family))
        let direction: NATFixture.Direction? =
            reading.destination == service ? .ingress : reading.source == server ? .egress : nil
        guard let direction, let step = result.steps[direction] else {
            #expect(outcome.verdict == .pass, comment)
            return
        }
        #expect(step.common.received == 1, comment)
        #expect(step.common.receivedBytes == UInt64(reading.payload.count), comment)
        guard reading.timeToLive > 1 else {
            #expect(outcome.verdict == .drop && step.common[.ttlExpired] == 1, comment)
            return
        }
        #expect(outcome.verdict == .transmit && step.common.forwarded == 1, comment)
        try Garbage.expect(
            outcome.output, of: frame, reading,
            from: [direction == .ingress ? reading.source : service],
            to: [direction == .ingress ? server : reading.destination], comment)
    }

    @Test("noise passes")
    func noise() throws {
        let fixture = try Self.fixture(false)
        var random = SplitMix64(seed: 3)
        for _ in 0..<2000 {
            let length = Int.random(in: 14...200, using: &random)
            var frame = (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            frame.replaceSubrange(0..<6, with: [0, 0, 0, 0, 0, 0])
            frame.replaceSubrange(12..<14, with: random.next() % 2 == 0 ? [8, 0] : [0x86, 0xdd])
            #expect(try fixture.run(frame) == .init(verdict: .pass, output: frame))
        }
    }

    private static func fixture(_ isInStack: Bool) throws -> NATFixture {
        let fixture = try NATFixture(.init(isInStack: isInStack))
        for (number, family) in NATCase.families.enumerated() {
            try fixture.listen(
                UInt32(number), on: ["\(NATCase.service(family))"],
                servers: ["\(NATCase.server(family))"])
        }
        return fixture
    }

    /// Both listeners together, a row for each direction; then the row without a listener.
    private static func rows(_ fixture: NATFixture) throws -> [NATCounts] {
        try NATFixture.Direction.allCases.map {
            try fixture.counts(0, $0) + fixture.counts(1, $0)
        } + [fixture.noListener()]
    }
}
