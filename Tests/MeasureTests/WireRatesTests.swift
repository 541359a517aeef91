// SPDX-License-Identifier: Apache-2.0

import Testing
import Tiers

@testable import Measure

@Suite("Rates of AF_XDP over veths", .tags(.unit))
struct WireRatesTests {
    /// A flood of a second in which so many thousand arrived, at 1 ns of CPU time each.
    static func flood(_ thousands: Int, sent: Int = 9_000_000) -> WireRates.Flood {
        WireRates.Flood(
            nanoseconds: 1_000_000_000, arrived: thousands * 1000,
            cpuNanoseconds: thousands * 1000, sentInAll: sent, arrivedInAll: thousands * 1000)
    }

    private static func cells(_ table: String) -> [[String]] {
        table.split(separator: "\n").dropFirst(2).map {
            $0.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
        }
    }

    @Test("a ratio pairs floods of one round, so a machine that changes speed changes nothing")
    func ratioOfARound() {
        var rates = WireRates()
        for speed in [1, 2, 10] {
            rates.add(Self.flood(1000 * speed), of: .ring)
            rates.add(Self.flood(900 * speed), of: .afxdp)
        }
        #expect(rates.ratio(to: .ring) == Spread([0.9, 0.9, 0.9]))
        #expect(rates.ratio(to: .mmsg) == nil)
    }

    @Test("the tables show what each forwards, and judge the daemon by the promises")
    func tables() throws {
        var rates = WireRates()
        rates.add(Self.flood(1000), of: .ring)
        rates.add(Self.flood(300), of: .mmsg)
        rates.add(Self.flood(450), of: .userspace)
        rates.add(Self.flood(900), of: .afxdp)
        rates.residentMebibytes = 64.1
        rates.idlePercent = 0.2
        let report = Report(cases: [], footprint: nil, wire: rates)
        #expect(
            Self.cells(try #require(report.wireTable)) == [
                ["xskreference ring", "1000", "1", "1000000"],
                ["xskreference mmsg", "300", "1", "300000"],
                ["udp-fanout, userspace", "450", "1", "450000"],
                ["udp-fanout, af_xdp", "900", "1", "900000"],
            ])
        #expect(
            Self.cells(try #require(report.afxdpTable)) == [
                ["rate, to xskreference ring", "0.90 (0.90–0.90)", "≥ 0.90", "met"],
                ["rate, to xskreference mmsg", "3.00 (3.00–3.00)", "≥ 3.00", "met"],
                ["rate, to udp-fanout, userspace", "2.00 (2.00–2.00)", "≥ 2.00", "met"],
                [
                    "resident memory with frames, one queue", "64.1 MiB", "≤ 64 MiB", "missed",
                ],
                ["CPU without traffic", "0.2 %", "≤ 2 %", "met"],
            ])
    }

    @Test("without the daemon in mode af_xdp there are rates and nothing to judge")
    func referencesAlone() throws {
        var rates = WireRates()
        rates.add(Self.flood(1000), of: .ring)
        let report = Report(cases: [], footprint: nil, wire: rates)
        #expect(Self.cells(try #require(report.wireTable))[3][1...] == ["-", "-", "0"])
        #expect(report.afxdpTable == nil)
        #expect(Report(cases: [], footprint: nil).wireTable == nil)
    }

    @Test(
        "a flood of which nothing, or too much, arrived is doubted; what was not taken is no loss")
    func doubts() {
        #expect(Self.flood(1000).doubts == [])
        #expect(Self.flood(0).doubts == ["nothing arrived"])
        #expect(Self.flood(1, sent: 999).doubts == ["1000 arrived of 999 sent"])
        #expect(Self.flood(0).cost == .infinity)
    }
}
