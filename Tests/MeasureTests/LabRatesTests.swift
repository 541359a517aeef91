// SPDX-License-Identifier: Apache-2.0

import Testing
import Tiers

@testable import Measure

@Suite("Rates over veths", .tags(.unit))
struct LabRatesTests {
    /// A flood of a microsecond for each arrival's `interval` ns.
    static func flood(_ interval: Int, sent: Int = 1000, arrived: Int = 1000) -> LabRates.Flood {
        LabRates.Flood(
            nanoseconds: interval * 900, arrived: 900, sentInAll: sent, arrivedInAll: arrived)
    }

    @Test("a ratio pairs floods of one round, so a machine that changes speed changes nothing")
    func ratioOfARound() {
        var rates = LabRates()
        for speed in [1, 2, 10] {
            rates.add(Self.flood(800 * speed), of: .bare, at: .sameHost)
            rates.add(Self.flood(1000 * speed), of: .daemon, at: .sameHost)
            rates.add(Self.flood(4000 * speed), of: .daemon, at: .elsewhere)
        }
        #expect(rates.ratio(to: .bare, at: .sameHost) == Spread([0.8, 0.8, 0.8]))
        #expect(rates.ratio(to: .nftables, at: .sameHost) == nil)
        #expect(rates.ratio(to: .bare, at: .elsewhere) == nil)
    }

    @Test("the table judges each ratio by its promise and shows what was lost")
    func table() throws {
        var rates = LabRates()
        rates.add(Self.flood(1000), of: .daemon, at: .sameHost)
        rates.add(Self.flood(800), of: .bare, at: .sameHost)
        rates.add(Self.flood(1999, arrived: 997), of: .nftables, at: .sameHost)
        rates.add(Self.flood(1000, sent: 1005), of: .daemon, at: .elsewhere)
        rates.add(Self.flood(849), of: .bare, at: .elsewhere)
        let lines = try #require(Report(cases: [], footprint: nil, lab: rates).labTable)
            .split(separator: "\n").dropFirst(2).map {
                $0.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
            }
        #expect(
            lines == [
                [
                    "same host", "bare redirect", "800", "1000", "0.80 (0.80–0.80)", "≥ 0.80",
                    "met", "2000", "0",
                ],
                [
                    "same host", "nftables DNAT", "1999", "1000", "2.00 (2.00–2.00)", "≥ 2.00",
                    "missed", "1997", "3",
                ],
                [
                    "behind a bridge", "bare redirect", "849", "1000", "0.85 (0.85–0.85)",
                    "≥ 0.85", "missed", "2000", "5",
                ],
                [
                    "behind a bridge", "nftables DNAT", "-", "1000", "-", "≥ 1.40", "-", "1000",
                    "5",
                ],
            ])
        #expect(Report(cases: [], footprint: nil).labTable == nil)
    }

    @Test("a flood of which nothing, or too much, arrived is doubted; a loss is a result")
    func doubts() {
        #expect(Self.flood(1).doubts == [])
        #expect(Self.flood(1, arrived: 1).doubts == [])
        #expect(Self.flood(1, sent: 999).doubts == ["1000 arrived of 999 sent"])
        #expect(
            LabRates.Flood(nanoseconds: 1, arrived: 0, sentInAll: 9, arrivedInAll: 0).doubts
                == ["nothing arrived"])
    }

    @Test("a flood that took another way than is measured there is doubted")
    func way() {
        let flood = Self.flood(1)
        #expect(LabRates.Place.sameHost.doubts(of: flood, sent: 3) == [])
        #expect(LabRates.Place.elsewhere.doubts(of: flood, sent: 1003) == [])
        #expect(
            LabRates.Place.sameHost.doubts(of: flood, sent: 1000)
                == ["1000 of 1000 packets were sent by the interface"])
        #expect(
            LabRates.Place.elsewhere.doubts(of: flood, sent: 0)
                == ["0 of 1000 packets were sent by the interface"])
    }
}
