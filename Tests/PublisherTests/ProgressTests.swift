// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import Testing

extension PublisherTests {
    @Suite("Progress")
    struct ProgressTests {}
}

extension PublisherTests.ProgressTests {
    @Test("in a pipe a fast run prints a line a second and then its report")
    func pipe() async throws {
        let sink = try Sink(keepsPayloads: false)
        let run = try await PublisherRun("0 --rate 1000 --duration 2.5", to: sink.endpoint)
        #expect(run.code == 0 && run.errors == [])
        try #require(run.output.count == 3, "\(run.output)")
        for (second, line) in run.output.prefix(2).enumerated() {
            let match = try #require(
                line.wholeMatch(of: /(\d+) s: sent (\d+), (\d+) a second/), "\(line)")
            #expect(Int(match.output.1) == second + 1)
            #expect(abs(try #require(Int(match.output.2)) - 1000 * (second + 1)) <= 100)
        }
        #expect(run.output[2].hasPrefix("sent 2500 of 2500 datagrams"))
    }

    @Test("on a terminal the line is rewritten in place, and the report replaces it")
    func terminal() async throws {
        let sink = try Sink(keepsPayloads: false)
        let command =
            "'\(PublisherRun.program)' 127.0.0.1 \(sink.endpoint.port) 0 --rate 100 --duration 2.5"
        let script = try ChildProcess("script", ["-qec", command, "/dev/null"])
        #expect(try await script.exit() == .exited(0))
        // The terminal turns each line end into CR LF.
        let lines = script.record.state.output.map { $0.replacing(/\r$/, with: "") }
        try #require(lines.count == 1, "\(lines)")
        let parts = lines[0].components(separatedBy: "\u{1b}[K")
        #expect(parts.count == 4, "\(lines)")
        #expect(parts.first?.hasPrefix("\r1 s: sent ") == true)
        #expect(parts.dropFirst().first?.hasPrefix("\r2 s: sent ") == true)
        #expect(parts.last?.hasPrefix("sent 250 of 250 datagrams") == true)
    }

    @Test("output that no process reads ends the run", arguments: ["10", "1000"])
    func unread(rate: String) async throws {
        let sink = try Sink(keepsPayloads: false)
        let process = try PublisherRun.start("0 --rate \(rate)", to: sink.endpoint)
        try await process.record.wait("a line") { $0.output.first }
        process.record.hangUp(1)
        #expect(try await process.exit() == .exited(0))
    }

    @Test("more workers than sources are not started, and a message says so")
    func spareWorkers() async throws {
        let sink = try Sink()
        let run = try await PublisherRun(
            "4 --rate 0 --workers 3 --json --sources 127.0.0.1,127.0.0.2", to: sink.endpoint)
        #expect(try run.report.workers == 2)
        #expect(run.errors == ["publisher: 2 of 3 workers start, one for each source"])
    }
}
