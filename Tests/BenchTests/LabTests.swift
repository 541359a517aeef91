// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import Testing
import Tiers

@Suite(
    "The bench over veths, run for a moment", .tags(.exhaustive), .serialized,
    .enabled(if: geteuid() == 0, "NOT TESTED: needs root"))
struct LabTests {
    @Test("measures the daemon beside bare programs and nftables, and nothing else")
    func rates() throws {
        let daemon = Files.product("udp-fanout")
        let run = try BenchRun(["--smoke", "--only", "veths", "--daemon", daemon])
        #expect(run.status == 0, "\(run.errors)")
        let rows = run.output.split(separator: "\n").dropFirst(2).map {
            $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(
            rows.map { $0.prefix(2).joined(separator: ", ") } == [
                "same host, bare redirect", "same host, nftables DNAT",
                "behind a bridge, bare redirect", "behind a bridge, nftables DNAT",
            ])
        for row in rows {
            for interval in row[2...3] { #expect((Int(interval) ?? 0) > 50, "\(row)") }
            #expect(row[4].contains("–"), "\(row)")
            #expect((Int(row[7]) ?? 0) > 0, "\(row)")
        }
    }

    @Test("believes no daemon that takes another way than the one that is measured")
    func otherWay() throws {
        let run = try BenchRun(["--smoke", "--only", "veths", "--daemon", BenchRun.fakeDaemon])
        #expect(run.status == 1)
        #expect(run.errors.contains("bench: same host, udp-fanout: "), "\(run.errors)")
        #expect(run.errors.contains("packets were sent by the interface"), "\(run.errors)")
        #expect(run.output == "")
    }

    @Test("fails when the daemon does not start, and passes on what it said")
    func brokenDaemon() throws {
        let run = try BenchRun(["--smoke", "--only", "veths", "--daemon", "/bin/cat"])
        #expect(run.status == 1)
        #expect(run.errors.contains("cat ended early: "), "\(run.errors)")
        #expect(run.errors.contains("unrecognized option"), "\(run.errors)")
    }
}
