// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tiers

@Suite(
    "The bench of AF_XDP, run for a moment", .tags(.exhaustive), .serialized,
    .enabled(if: geteuid() == 0, "NOT TESTED: needs root"))
struct WireTests {
    private static func rows(_ run: BenchRun) -> [[String]] {
        run.output.split(separator: "\n").map {
            $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test("measures the references alone when there is no daemon, with right checksums")
    func references() throws {
        let run = try BenchRun(["--smoke", "--only", "afxdp"])
        #expect(run.status == 0, "\(run.errors)")
        let rows = Self.rows(run).dropFirst(2)
        #expect(rows.count == 4, "\(run.output)")
        for row in rows.prefix(2) {
            #expect(row[0].hasPrefix("xskreference "))
            for figure in row[1...3] { #expect((Int(figure) ?? 0) > 0, "\(row)") }
        }
        for row in rows.suffix(2) { #expect(row[1...] == ["-", "-", "0"]) }
    }

    @Test("measures a daemon in both modes beside them, its memory and what it takes idle")
    func daemon() throws {
        let run = try BenchRun(["--smoke", "--only", "afxdp", "--daemon", BenchRun.fakeDaemon])
        #expect(run.status == 0, "\(run.errors)")
        let judged = Self.rows(run).filter {
            $0.count == 4 && $0[2].first.map("≥≤".contains) == true
        }
        #expect(judged.count == 5, "\(run.output)")
        for row in judged { #expect(["met", "missed"].contains(row[3]), "\(row)") }
    }

    @Test("believes no daemon whose books do not balance")
    func dishonestDaemon() throws {
        let run = try BenchRun(
            ["--smoke", "--only", "afxdp", "--daemon", BenchRun.fakeDaemon],
            environment: ["FAKE_DAEMON_LOSES": "10"])
        #expect(run.status == 1)
        #expect(run.errors.contains("udp-fanout, userspace: received "), "\(run.errors)")
        #expect(run.output == "")
    }
}
