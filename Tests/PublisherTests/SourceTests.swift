// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import Testing

extension PublisherTests {
    @Suite("Sources and workers")
    struct SourceTests {
        /// A run, and how many sources it has.
        struct Spread: CustomTestStringConvertible {
            let total: UInt64
            let sources: String
            let count: UInt64
            let flags: String
            var testDescription: String { "\(total) from \(sources) \(flags)" }
        }
    }
}

extension PublisherTests.SourceTests {
    @Test(
        "every number is sent once, datagram k from source k mod S, in order by source",
        arguments: [
            Spread(total: 1, sources: "127.0.0.9", count: 1, flags: "--rate 0"),
            Spread(total: 64, sources: "127.0.0.9", count: 1, flags: "--rate 0"),
            Spread(total: 65, sources: "127.0.0.9,127.0.0.7", count: 2, flags: "--rate 0"),
            Spread(
                total: 1001, sources: "127.0.0.9,127.0.0.7,127.0.0.8", count: 3,
                flags: "--rate 0 --workers 2"),
            Spread(
                total: 20_003, sources: "127.0.9.0/24", count: 256, flags: "--rate 0 --workers 3"),
            Spread(
                total: 2003, sources: "127.0.9.0/28,127.0.0.1", count: 17,
                flags: "--rate 5000 --workers 4"),
            Spread(total: 999, sources: "127.0.9.0/29", count: 8, flags: "--rate 0 --workers 8"),
            Spread(
                total: 1003, sources: "127.0.9.0/28", count: 16,
                flags: "--rate 0 --workers 3 --connect"),
            Spread(total: 2, sources: "127.0.9.0/28", count: 16, flags: "--rate 0 --workers 3"),
        ])
    func spread(_ spread: Spread) async throws {
        let sink = try Sink()
        let run = try await PublisherRun(
            "\(spread.total) --json --quiet --sources \(spread.sources) \(spread.flags)",
            to: sink.endpoint)
        let report = try run.report
        #expect(report.attempted == spread.total && report.sent == spread.total)
        #expect(report.failed == 0 && report.ended == "count")
        #expect(report.sources == Int(spread.count))
        try await eventually("all datagrams") { sink.arrivals == spread.total }
        try #require(sink.kernelDrops == 0)
        let numbers = try sink.numbers()
        #expect(numbers.count == Int(min(spread.count, spread.total)))
        let all = numbers.values.flatMap(\.self).sorted()
        // Compared outside #expect, because a failure would print every number.
        let isComplete = all.elementsEqual(0..<spread.total)
        #expect(isComplete, "\(all.count) numbers, \(Set(all).count) different")
        for (source, own) in numbers {
            let expected = stride(from: own[0], to: spread.total, by: Int(spread.count))
            let isInTurn = own.elementsEqual(expected)
            #expect(isInTurn, "\(source): \(own.prefix(5)) and so on")
        }
        // One port for a source shows that one socket, and so one worker, sent all its datagrams.
        let ports = Dictionary(grouping: sink.datagrams, by: \.source.address)
        for (source, list) in ports {
            #expect(Set(list.map(\.source.port)).count == 1, "\(source)")
        }
    }

    @Test("without --sources each worker has a port of its own, and N is still exact")
    func workersAlone() async throws {
        let sink = try Sink()
        let run = try await PublisherRun("10007 --rate 0 --workers 3 --json", to: sink.endpoint)
        #expect(try run.report.attempted == 10_007)
        try await eventually("all datagrams") { sink.arrivals == 10_007 }
        let isComplete = try sink.numbers()[.loopback]?.sorted().elementsEqual(0..<10_007)
        #expect(isComplete == true)
        #expect(Set(sink.datagrams.map(\.source.port)).count == 3)
    }

    @Test(
        "a block uses all its addresses but the first and last, evenly",
        .enabled(if: Privilege.isRoot))
    func blockOf254() async throws {
        let setup = ["link set lo up", "route add local 10.7.0.0/24 dev lo"]
        try await Namespace.run(setup) {
            let sink = try Sink()
            let run = try await PublisherRun(
                "25400 --rate 0 --workers 2 --json --sources 10.7.0.0/24", to: sink.endpoint)
            #expect(try run.report.sources == 254)
            try await eventually("all datagrams") { sink.arrivals == 25_400 }
            let numbers = try sink.numbers()
            #expect(numbers.count == 254 && numbers.values.allSatisfy { $0.count == 100 })
            #expect(numbers[IPAddress(v4: 0x0a07_0000)] == nil)
            #expect(numbers[IPAddress(v4: 0x0a07_00ff)] == nil)
        }
    }

    @Test("one process sends from 65536 sources with a socket a worker")
    func largeBlock() async throws {
        let sink = try Sink(keepsPayloads: false)
        let process = try PublisherRun.start(
            "0 --rate 50000 --workers 2 --json --sources 127.7.0.0/16", to: sink.endpoint)
        try await eventually("some datagrams") { sink.count > 1000 }
        let descriptors = try FileManager.default.contentsOfDirectory(
            atPath: "/proc/\(process.pid)/fd")
        // Its own are five; it may inherit more from the test runner.
        #expect(descriptors.count < 100)
        process.send(SIGINT)
        let report = try await PublisherRun(ending: process).report
        #expect(report.sources == 65_536 && report.failed == 0)
        try await eventually("all datagrams") { sink.arrivals == report.sent }
    }

    @Test("an IPv6 block uses every address once AnyIP is set up", .enabled(if: Privilege.isRoot))
    func anyIP() async throws {
        let setup = ["link set lo up", "-6 route add local fd00:7::/112 dev lo"]
        try await Namespace.run(setup) {
            let sink = try Sink(on: .loopback6)
            let words = "4096 --rate 0 --json --workers 2 --sources fd00:7::/118"
            let refused = try await PublisherRun(words, to: sink.endpoint)
            #expect(refused.code == 1 && refused.output == [])
            #expect(refused.errors.joined().contains("net.ipv6.ip_nonlocal_bind=1"))
            try Namespace.set("ipv6/ip_nonlocal_bind", to: "1")
            #expect(try await PublisherRun(words, to: sink.endpoint).report.sent == 4096)
            try await eventually("all datagrams") { sink.arrivals == 4096 }
            let numbers = try sink.numbers()
            #expect(numbers.count == 1024 && numbers.values.allSatisfy { $0.count == 4 })
        }
    }
}
