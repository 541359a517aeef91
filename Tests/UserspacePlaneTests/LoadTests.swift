// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing
import Tiers

extension UserspacePlaneTests {
    @Suite("under load", .tags(.load))
    struct LoadTests {
        struct Case: CustomTestStringConvertible {
            let balance: Balance
            let workers: Int
            /// Datagrams in each super-packet of the clients; 1: single datagrams.
            let segments: Int
            let total: UInt64

            var testDescription: String {
                "\(total) datagrams, \(balance.rawValue), \(workers) workers, "
                    + (segments > 1 ? "super-packets of \(segments)" : "one by one")
            }
        }

        static let cases = [Balance.roundRobin, .sourceIP].flatMap { balance in
            [(1, 16), (4, 1), (4, 16), (1, 1)].map { workers, segments in
                Case(balance: balance, workers: workers, segments: segments, total: 50_000)
            }
        }
        static let longCases = [
            Case(balance: .roundRobin, workers: 1, segments: 1, total: 500_000),
            Case(balance: .sourceIP, workers: 4, segments: 16, total: 500_000),
        ]

        @Test(
            "forwards each datagram once, intact, in its flow's order, at 50 000 a second",
            .timeLimit(.minutes(2)), arguments: cases)
        func exactlyOnce(_ load: Case) async throws { try await check(load) }

        @Test(
            "forwards half a million datagrams once, intact, in their flow's order",
            .tags(.exhaustive), .timeLimit(.minutes(2)),
            arguments: longCases)
        func exactlyOnceOfMany(_ load: Case) async throws { try await check(load) }

        private func check(_ load: Case) async throws {
            let stage = Stage.userspace
            let sinks = try stage.sinks(3, keepsPayloads: false)
            let listener = try stage.listener(
                "in", load.balance, to: sinks.downstreams(),
                settings: .roomy(workers: load.workers))
            let rig = try await stage.rig([listener])
            let sources = try (0..<16).map { try stage.traffic(to: listener, client: $0) }
            let report = try await Load(
                sources, rate: 50_000, total: load.total,
                sizes: [64, 64, 64, 1200, 24, 24, 500], segments: load.segments
            ).finish()
            try await expectExact(report, through: rig, at: sinks)
            #expect(report.datagrams >= load.total)
            #expect(report.refusals == 0)
            let counters = try #require(await rig.stop().first)
            #expect(counters.bytesForwarded == sinks.map(\.bytes).reduce(0, +))
            #expect(counters.downstreams.map(\.packetsForwarded) == sinks.map(\.arrivals))
            print(
                "\(load.testDescription): \(Int(report.rate)) a second, "
                    + "\(counters.receiveCalls) receive calls, \(counters.sendCalls) send calls")
        }

        @Test("spreads exactly evenly over one worker, also within super-packets")
        func evenCounts() async throws {
            let stage = Stage.userspace
            let sinks = try stage.sinks(3, keepsPayloads: false)
            let listener = try stage.listener(to: sinks.downstreams(), settings: .roomy())
            let rig = try await stage.rig([listener])
            let traffic = try stage.traffic(to: listener)
            let report = try await Load(
                [traffic], rate: 50_000, total: 30_720, sizes: [100, 30, 700], segments: 16
            ).finish()
            try await expectExact(report, through: rig, at: sinks)
            #expect(report.datagrams % 3 == 0)
            #expect(sinks.map(\.arrivals) == Array(repeating: report.datagrams / 3, count: 3))
        }
    }
}
