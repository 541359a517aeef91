// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tiers

@Suite("The bench, run for a moment", .tags(.exhaustive), .serialized)
struct SmokeTests {
    @Test("measures both references under every load")
    func references() throws {
        let run = try BenchRun(["--smoke"])
        #expect(run.status == 0, "\(run.errors)")
        let rows = run.output.split(separator: "\n").filter { $0.contains(" B ") }
        #expect(rows.count == 6, "\(run.output)")
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            for cost in cells[3...4] { #expect((Int(cost) ?? 0) > 50, "\(row)") }
            #expect((cells.last.flatMap { Int($0) } ?? 0) > 0, "\(row)")
        }
        let ways = run.output.split(separator: "\n").map {
            $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        for way in [["next hop known", "IPv4"], ["route looked up", "IPv6"]]
        where geteuid() == 0 {
            let row = ways.first { $0.starts(with: way) }
            #expect(row?[2].contains(" ns (") == true, "\(run.output)")
        }
    }

    @Test("measures a daemon beside them, reads its counters, and writes the page")
    func daemon() throws {
        let page = FileManager.default.temporaryDirectory
            .appending(path: "page-\(UUID().uuidString).md")
        defer { try? FileManager.default.removeItem(at: page) }
        let run = try BenchRun([
            "--smoke", "--only", "loopback", "--daemon", BenchRun.fakeDaemon, "--markdown",
            page.path,
        ])
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.errors.contains("accounting: received"))
        #expect(run.output.contains("exec to first datagram forwarded"))
        let text = try String(contentsOf: page, encoding: .utf8)
        for fact in ["- CPU: ", "- kernel: Linux ", "- compiler: Swift", "make bench ARGS="] {
            #expect(text.contains(fact), "\(fact) in \(text)")
        }
    }

    @Test("rejects a daemon whose counters do not add up")
    func dishonestDaemon() throws {
        let run = try BenchRun(
            ["--smoke", "--daemon", BenchRun.fakeDaemon], environment: ["FAKE_DAEMON_LOSES": "10"])
        #expect(run.status == 1)
        #expect(run.errors.contains("udp-fanout: received "), "\(run.errors)")
        #expect(run.output == "")
    }

    @Test("fails when the daemon does not start, and passes its errors on")
    func brokenDaemon() throws {
        let run = try BenchRun(["--smoke", "--daemon", "/bin/cat"])
        #expect(run.status == 1)
        #expect(run.errors.contains("cat ended early: "), "\(run.errors)")
        #expect(run.errors.contains("unrecognized option"), "\(run.errors)")
    }

    @Test("leaves no process behind after SIGTERM")
    func stop() throws {
        var children: [pid_t] = []
        let run = try BenchRun(["--seconds", "60"]) { bench in
            // loadgen is the second child; the first forwarder runs by then.
            let clock = ContinuousClock()
            let deadline = clock.now + .seconds(30)
            while children.count < 2, clock.now < deadline { children = Self.children(of: bench) }
            kill(bench, SIGTERM)
        }
        #expect(children.count == 2)
        #expect(run.status == 143)
        #expect(children.filter { kill($0, 0) == 0 } == [])
    }

    @Test(
        "explains itself on bad usage",
        arguments: [["--rounds", "0"], ["--fast"], ["--daemon"], ["--only", "x"]])
    func badUsage(arguments: [String]) throws {
        let run = try BenchRun(arguments)
        #expect(run.status == 2)
        #expect(run.errors.contains("usage: bench"))
        #expect(run.output == "")
    }

    /// The processes whose parent is `pid`: field 4 of /proc/N/stat, the second after the name.
    private static func children(of pid: pid_t) -> [pid_t] {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return entries.compactMap { pid_t($0) }.filter { candidate in
            guard let handle = FileHandle(forReadingAtPath: "/proc/\(candidate)/stat"),
                let data = try? handle.readToEnd()
            else { return false }
            let fields =
                String(decoding: data, as: UTF8.self)
                .split(separator: ")").last?.split(separator: " ") ?? []
            return fields.count > 1 && pid_t(fields[1]) == pid
        }
    }
}
