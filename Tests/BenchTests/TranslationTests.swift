// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tiers

@Suite(
    "The bench of xdp_nat, run for a moment", .tags(.exhaustive), .serialized,
    .enabled(if: geteuid() == 0, "NOT TESTED: needs root"))
struct TranslationTests {
    private static func rows(_ run: BenchRun) -> [[String]] {
        run.output.split(separator: "\n").dropFirst(2).map {
            $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test("without a daemon it measures who translates beside it")
    func references() throws {
        let run = try BenchRun(["--smoke", "--only", "nat"])
        #expect(run.status == 0, "\(run.errors)")
        let rows = Self.rows(run)
        #expect(rows.count == 10, "\(run.output)")
        for row in rows {
            let isMeasured = row[0] == "bare rewrite" || row[0] == "nftables DNAT"
            #expect(((Int(row[2]) ?? 0) > 0) == isMeasured, "\(row)")
            #expect(row[3] == "-" && row[5] == "-", "\(row)")
        }
    }

    @Test("a daemon that refuses the mode ends it with what it said")
    func refused() throws {
        let run = try BenchRun(["--smoke", "--only", "nat", "--daemon", BenchRun.fakeDaemon])
        #expect(run.status == 1)
        #expect(run.errors.contains("mode xdp_nat is not part of this build"), "\(run.errors)")
    }
}
