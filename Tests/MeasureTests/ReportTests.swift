// SPDX-License-Identifier: Apache-2.0

import Testing
import Tiers

@testable import Measure

@Suite("The tables", .tags(.unit))
struct ReportTests {
    static func report(daemonCost: Int) -> Report {
        var result = CaseResult(workload: Workload(input: .plain, payload: 64))
        result.add(FiguresTests.sample(1600), of: .mmsg)
        result.add(FiguresTests.sample(1000), of: .gso)
        result.add(FiguresTests.sample(daemonCost), of: .daemon)
        return Report(cases: [result], footprint: nil)
    }

    @Test("show the cost, the ratio and whether the promise is met")
    func costTable() {
        let lines = Self.report(daemonCost: 1100).costTable.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(
            lines[2].split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
                == [
                    "plain", "64 B", "3", "1600", "1000", "1100", "1.10 (1.10–1.10)", "≤ 1.10",
                    "met",
                    "900",
                ])
        #expect(Self.report(daemonCost: 1101).costTable.contains("missed"))
    }

    @Test("show a dash for what was not run")
    func referencesOnly() {
        var result = CaseResult(workload: Workload(input: .superPacket, payload: 1400))
        result.add(FiguresTests.sample(300), of: .gso)
        let report = Report(cases: [result], footprint: nil)
        #expect(report.costTable.contains("| super-packet | 1400 B  | 3         | -"))
        #expect(report.footprintTable == nil)
    }

    @Test("judge memory and start-up")
    func footprint() throws {
        let start = try #require(Spread([150, 250, 190]))
        let table = try #require(
            Report(
                cases: [], footprint: Footprint(residentMebibytes: 48.1, startMilliseconds: start)
            ).footprintTable)
        #expect(table.contains("48.1 MiB"))
        #expect(table.contains("missed"))
        #expect(table.contains("190.00 (150.00–250.00) ms"))
        #expect(table.contains("met "))
    }

    @Test("judge the program of tc_ebpf by a bare one beside it, IPv6 by what IPv4 was measured at")
    func forwarding() throws {
        func cost(_ family: Forwarding.Family, _ program: [Double]) throws -> Forwarding.Cost {
            Forwarding.Cost(
                path: .neighbour, family: family, program: try #require(Spread(program)),
                bare: try #require(Spread([70, 58, 90])),
                empty: try #require(Spread([15, 10, 20])))
        }
        let report = Report(
            cases: [], footprint: nil,
            forwarding: Forwarding(costs: [try cost(.v4, [101, 100, 300]), try cost(.v6, [146])]))
        let lines = try #require(report.forwardingTable).split(separator: "\n").map {
            $0.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
        }
        let bare = "48 ns"
        #expect(
            lines[2] == [
                "next hop known", "IPv4", "90 ns (100 − 10)", bare, "1.88", "≤ 90 ns", "met",
            ])
        #expect(
            lines[3] == [
                "next hop known", "IPv6", "136 ns (146 − 10)", bare, "2.83", "≤ 135 ns", "missed",
            ])
        #expect(Report(cases: [], footprint: nil).forwardingTable == nil)
    }

    @Test("judge the program of xdp_nat, and say so where nothing is promised")
    func translation() throws {
        func cost(
            _ packet: Translation.Packet, _ way: Translation.Way, _ family: Forwarding.Family,
            _ program: Double
        ) throws -> Translation.Cost {
            Translation.Cost(
                packet: packet, way: way, family: family, program: try #require(Spread([program])),
                empty: try #require(Spread([10])))
        }
        let costs = try [
            cost(.answer, .oneArm, .v4, 70), cost(.answer, .oneArm, .v6, 85),
            cost(.newcomer, .routed, .v4, 600),
        ]
        let report = Report(
            cases: [], footprint: nil, translation: Translation(costs: costs))
        let lines = try #require(report.translationTable).split(separator: "\n").map {
            $0.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
        }
        #expect(lines[2][2...] == ["IPv4", "60 ns (70 − 10)", "≤ 55 ns", "missed"])
        #expect(lines[3][2...] == ["IPv6", "75 ns (85 − 10)", "≤ 78 ns", "met"])
        #expect(lines[4][2...] == ["IPv4", "590 ns (600 − 10)", "-", "-"])
        #expect(Report(cases: [], footprint: nil).translationTable == nil)
    }

    @Test("numbers are rounded half away from zero and padded")
    func rounding() {
        #expect(1.005.rounded(to: 1) == "1.0")
        #expect(0.05.rounded(to: 1) == "0.1")
        #expect(12.0.rounded(to: 2) == "12.00")
        #expect((-1.26).rounded(to: 1) == "-1.3")
        #expect(1629.5.rounded(to: 0) == "1630")
        #expect(Double.infinity.rounded(to: 2) == "infinite")
    }

    @Test("new figures replace the old ones and leave the page around them")
    func page() {
        func page(_ cost: Int) -> PerformancePage {
            PerformancePage(
                facts: [("cores", "2")], command: "make bench",
                report: Self.report(daemonCost: cost))
        }
        let first = page(1010).text(replacing: nil)
        #expect(first.hasPrefix("# Performance\n"))
        #expect(first.contains("1010"))
        #expect(first.contains("- command: `make bench`"))
        let second = page(1020).text(replacing: "Mine.\n" + first + "Also mine.\n")
        #expect(second.hasPrefix("Mine.\n# Performance\n"))
        #expect(second.hasSuffix("\nAlso mine.\n"))
        #expect(second.contains("1020"))
        #expect(!second.contains("1010"))
        #expect(page(1010).text(replacing: first) == first)
    }
}
