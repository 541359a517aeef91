// SPDX-License-Identifier: Apache-2.0

import Testing
import Tiers

@testable import Measure

@Suite("Rates of xdp_nat over veths", .tags(.unit))
struct NATRatesTests {
    private static func cells(_ table: String) -> [[String]] {
        table.split(separator: "\n").dropFirst(2).map {
            $0.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
        }
    }

    @Test("a ratio pairs floods of one round, so a machine that changes speed changes nothing")
    func ratioOfARound() {
        var rates = NATRates()
        for speed in [1, 2, 10] {
            rates.add(WireRatesTests.flood(1000 * speed), of: .bare, in: .routed)
            rates.add(WireRatesTests.flood(700 * speed), of: .daemon, in: .routed)
            rates.add(WireRatesTests.flood(1000 * speed), of: .daemon, in: .few)
            rates.add(WireRatesTests.flood(800 * speed), of: .daemon, in: .all)
        }
        #expect(rates.ratio(to: .bare, in: .routed) == Spread([0.7, 0.7, 0.7]))
        #expect(rates.ratio(to: .nftables, in: .routed) == nil)
        #expect(rates.slowdown(in: .all) == Spread([1.25, 1.25, 1.25]))
    }

    @Test("the table judges the daemon by the promises, and by them alone")
    func table() throws {
        var rates = NATRates()
        for (forwarder, scene, thousands) in [
            (NATRates.Forwarder.bare, NATRates.Scene.oneArm, 1000), (.daemon, .oneArm, 800),
            (.bare, .routed, 1000), (.nftables, .routed, 200), (.daemon, .routed, 500),
            (.daemon, .few, 800), (.daemon, .crowd, 640), (.daemon, .all, 500),
        ] {
            rates.add(WireRatesTests.flood(thousands), of: forwarder, in: scene)
        }
        let report = Report(cases: [], footprint: nil, nat: rates)
        #expect(
            Self.cells(try #require(report.natTable)) == [
                ["bare rewrite", "one arm", "1000", "0.80 (0.80–0.80)", "≥ 0.80", "met"],
                ["udp-fanout, xdp_nat", "one arm", "1250", "-", "-", "-"],
                ["bare rewrite", "routed", "1000", "0.50 (0.50–0.50)", "≥ 0.60", "missed"],
                ["nftables DNAT", "routed", "5000", "2.50 (2.50–2.50)", "≥ 2.50", "met"],
                ["udp-fanout, xdp_nat", "routed", "2000", "-", "-", "-"],
                ["udp-fanout, xdp_nat", "1024 clients", "1250", "-", "-", "-"],
                ["udp-fanout, xdp_nat", "1024 of 1048576 clients", "1563", "-", "-", "-"],
                ["udp-fanout, xdp_nat", "1048576 clients", "2000", "-", "-", "-"],
                [
                    "1024 of 1048576 clients, to 1024", "one arm", "-", "1.25 (1.25–1.25)",
                    "≤ 1.50", "met",
                ],
                [
                    "1048576 clients, to 1024", "one arm", "-", "1.60 (1.60–1.60)", "≤ 1.50",
                    "missed",
                ],
            ])
        #expect(Report(cases: [], footprint: nil).natTable == nil)
    }
}
