// SPDX-License-Identifier: Apache-2.0

import Testing
import Tiers

@testable import Measure

@Suite("Figures", .tags(.unit))
struct FiguresTests {
    static func sample(_ cost: Int, sinks: [Int] = [100, 100, 100], sent: Int = 400) -> Sample {
        let arrived = sinks.reduce(0, +)
        return Sample(
            arrived: arrived, cpuNanoseconds: cost * arrived, sentInAll: sent, perSinkInAll: sinks)
    }

    @Test("the median of an even number of figures is the mean of the middle two")
    func median() {
        #expect(Spread([4, 1, 3, 100])?.median == 3.5)
        #expect(Spread([9, 1, 5])?.median == 5)
        #expect(Spread([9, 1, 5])?.least == 1)
        #expect(Spread([9, 1, 5])?.most == 9)
        #expect(Spread([]) == nil)
    }

    @Test("a ratio pairs figures of one round, so a machine that changes speed changes nothing")
    func ratioOfARound() {
        var result = CaseResult(workload: Workload(input: .plain, payload: 64))
        for speed in [1, 2, 10] {
            result.add(Self.sample(200 * speed), of: .mmsg)
            result.add(Self.sample(100 * speed), of: .gso)
            result.add(Self.sample(110 * speed), of: .daemon)
        }
        #expect(result.ratio == Spread([1.1, 1.1, 1.1]))
        #expect(result.cost(of: .mmsg)?.median == 400)
        #expect(result.delivered(by: .daemon) == 900)
    }

    @Test("plain input is held against the cheaper reference, super-packets against gso")
    func baseline() {
        let plain = Workload(input: .plain, payload: 64)
        let superPacket = Workload(input: .superPacket, payload: 64)
        #expect(plain.baseline(mmsg: 2, gso: 3) == 2)
        #expect(plain.baseline(mmsg: 3, gso: 2) == 2)
        #expect(superPacket.baseline(mmsg: 2, gso: 3) == 3)
    }

    @Test("a super-packet fits the length field of UDP", arguments: Workload.all)
    func segments(workload: Workload) {
        #expect(workload.segments * workload.payload <= 65507)
        #expect((workload.segments > 1) == (workload.input == .superPacket))
    }

    @Test("an uneven, an empty and an impossible delivery are doubted")
    func doubts() {
        #expect(Self.sample(1).doubts == [])
        #expect(Self.sample(1, sinks: [1000, 1000, 1009], sent: 4000).doubts == [])
        #expect(
            Self.sample(1, sinks: [1000, 1000, 1100], sent: 4000).doubts
                == ["a sink got 1100, the mean is 1033: no round robin"])
        #expect(Self.sample(1, sinks: [0, 0, 0]).doubts == ["nothing was delivered"])
        #expect(Self.sample(1, sent: 299).doubts == ["300 arrived of 299 sent"])
    }

    @Test("options are read, and smoke is one short round")
    func options() throws {
        let options = try Options(["--daemon", "a b", "--rounds", "7", "--seconds", "0.5"])
        #expect(options.daemon == "a b")
        #expect(options.rounds == 7)
        #expect(options.seconds == 0.5)
        #expect(try Options([]) == Options())
        #expect(try Options(["--smoke"]).rounds == 1)
        #expect(Part.allCases.allSatisfy(options.wants))
        #expect(try Part.allCases.filter(Options(["--only", "veths"]).wants) == [.veths])
        #expect(throws: UsageError("--seconds takes a number above 0, not -1")) {
            try Options(["--seconds", "-1"])
        }
    }
}
