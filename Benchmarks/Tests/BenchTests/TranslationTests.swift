// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite(
    "The bench of xdp_nat, run for a moment", .serialized,
    .enabled(if: geteuid() == 0, "NOT TESTED: needs root"))
struct TranslationTests {
    private static func rows(_ run: BenchRun) -> [[String]] {
        run.output.split(separator: "\n").dropFirst(2).map {
            $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test(
        "without a daemon, or with one that has no such mode, it measures who translates beside it",
        arguments: [[], ["--daemon", BenchRun.standIn]])
    func references(daemon: [String]) throws {
        let run = try BenchRun(["--smoke", "--only", "nat"] + daemon)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.errors.contains("refuses mode xdp_nat") == !daemon.isEmpty)
        let rows = Self.rows(run)
        #expect(rows.count == 10, "\(run.output)")
        for row in rows {
            let isMeasured = row[0] == "bare rewrite" || row[0] == "nftables DNAT"
            #expect(((Int(row[2]) ?? 0) > 0) == isMeasured, "\(row)")
            #expect(row[3] == "-" && row[5] == "-", "\(row)")
        }
    }
}
