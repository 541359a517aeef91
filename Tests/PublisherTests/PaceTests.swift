// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import Testing
import Tiers

extension PublisherTests {
    @Suite("Rate and end", .tags(.load))
    struct RateTests {
        /// CPU time of a process, in ticks of 10 ms (proc(5), fields 14 and 15).
        static func ticks(of pid: pid_t) throws -> Int {
            let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
            let behindName = try #require(text.split(separator: ")").last)
            return behindName.split(separator: " ")[11...12].compactMap { Int($0) }.reduce(0, +)
        }
    }
}

extension PublisherTests.RateTests {
    @Test(
        "a rate is held without drift, by one worker and by several",
        arguments: ["", "--workers 3", "--workers 2 --sources 127.0.4.0/24"])
    func steady(flags: String) async throws {
        let sink = try Sink(keepsPayloads: false)
        let run = try await PublisherRun(
            "2000 --rate 1000 --json --quiet \(flags)", to: sink.endpoint)
        let report = try run.report
        #expect(report.ended == "count")
        #expect(report.attempted == 2000 && report.sent == 2000)
        #expect(abs(report.rate - 1000) <= 50, "\(report)")
        try await eventually("all datagrams") { sink.arrivals == 2000 }
    }

    @Test("datagrams leave when they are due, not in one burst")
    func paced() async throws {
        let sink = try Sink()
        let begin = ContinuousClock.now
        let process = try PublisherRun.start("300 --rate 100 --json --quiet", to: sink.endpoint)
        try await eventually("a half of them") { sink.count >= 150 }
        #expect(ContinuousClock.now - begin >= .seconds(1.4))
        #expect(sink.count < 250)
        let report = try await PublisherRun(ending: process).report
        #expect(report.sent == 300 && report.ended == "count")
        // The last one is due after 2.99 s.
        #expect(report.seconds >= 2.98)
    }

    @Test("a slow rate costs no CPU time")
    func idle() async throws {
        let sink = try Sink()
        let process = try PublisherRun.start("4 --workers 4", to: sink.endpoint)
        try await eventually("three datagrams") { sink.count == 3 }
        // The start takes some ticks; two seconds of a busy loop in one thread would take 200.
        #expect(try Self.ticks(of: process.pid) < 40)
        _ = try await process.exit()
    }

    @Test("a run at an unreachable rate still ends with the duration")
    func unattainable() async throws {
        for rate in ["0", "1e9"] {
            let sink = try Sink(keepsPayloads: false)
            let run = try await PublisherRun(
                "0 --rate \(rate) --duration 0.5 --json --quiet --workers 2", to: sink.endpoint)
            let report = try run.report
            #expect(report.ended == "duration" && report.sent == report.attempted)
            #expect((0.5..<2).contains(report.seconds), "\(report)")
            try await eventually("all datagrams") { sink.arrivals == report.sent }
        }
    }

    @Test("N or the duration ends the run, whichever comes first")
    func first() async throws {
        let sink = try Sink()
        let byCount = try await PublisherRun(
            "30 --rate 100 --duration 20 --json", to: sink.endpoint
        ).report
        #expect(byCount.ended == "count" && byCount.sent == 30)
        let byTime = try await PublisherRun(
            "30 --rate 20 --duration 0.5 --json", to: sink.endpoint
        ).report
        #expect(byTime.ended == "duration" && byTime.sent == 10)
        #expect(byTime.seconds >= 0.5)
    }

    @Test(
        "a signal ends it at once, with its report and exit 0",
        arguments: [
            (SIGTERM, "SIGTERM", "0.01"), (SIGINT, "SIGINT", "20000"), (SIGTERM, "SIGTERM", "0"),
        ])
    func signals(number: Int32, name: String, rate: String) async throws {
        let sink = try Sink(keepsPayloads: false)
        let process = try PublisherRun.start(
            "0 --rate \(rate) --workers 2 --json --quiet", to: sink.endpoint)
        try await eventually("a datagram") { sink.count >= 1 }
        process.send(number)
        let begin = ContinuousClock.now
        let report = try await PublisherRun(ending: process).report
        #expect(ContinuousClock.now - begin < .seconds(5))
        #expect(report.ended == name && report.sent == report.attempted)
        try await eventually("all datagrams") { sink.arrivals == report.sent }
    }

    @Test("a run ended by a signal also prints a text report")
    func signalText() async throws {
        let sink = try Sink()
        let process = try PublisherRun.start("0", to: sink.endpoint)
        try await eventually("a datagram") { sink.count == 1 }
        process.send(SIGTERM)
        let run = try await PublisherRun(ending: process)
        #expect(run.code == 0)
        #expect(run.output.last?.hasPrefix("sent 1 of 1 datagram, 14 bytes, from 1 source") == true)
    }
}
