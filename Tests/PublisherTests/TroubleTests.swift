// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import Testing

extension PublisherTests {
    @Suite("Failures and bad usage")
    struct TroubleTests {}
}

extension PublisherTests.TroubleTests {
    @Test("connected sockets see every refusal, and sent plus failed equals attempted")
    func refusals() async throws {
        let closed = try Endpoint.free()
        let one = try await PublisherRun("100 --rate 0 --connect --json", to: closed).report
        // ICMP answers each datagram before the next send, which then fails instead.
        #expect(one.sent == 50 && one.errors == ["ECONNREFUSED": 50])
        #expect(one.attempted == 100 && one.failed == 50 && one.bytes < 50 * 15)
        let many = try await PublisherRun(
            "1000 --rate 0 --connect --json --workers 3 --sources 127.0.3.0/28", to: closed
        ).report
        #expect(many.attempted == 1000 && many.sent + many.failed == 1000)
        // Sixteen sources of 62 or 63 datagrams each; every second one is sent, beginning with the first.
        #expect(many.errors == ["ECONNREFUSED": 16 * 31])
        let blind = try await PublisherRun("100 --rate 0 --json", to: closed).report
        #expect(blind.sent == 100 && blind.errors == [:])
    }

    @Test("a refusal is printed with its message, and counted in the report")
    func refusalText() async throws {
        let closed = try Endpoint.free()
        let run = try await PublisherRun("2 --rate 10 --connect", to: closed)
        #expect(run.code == 0 && run.errors == [])
        try #require(run.output.count == 4, "\(run.output)")
        #expect(
            run.output[1] == "failed Hello World 1! to \(closed) from 127.0.0.1: "
                + "ECONNREFUSED (Connection refused)")
        #expect(run.output[2].hasPrefix("sent 1 of 2 datagrams, 14 bytes"))
        #expect(run.output[3] == "failed 1: ECONNREFUSED (Connection refused)")
    }

    @Test(
        "sources that vanish fail alone: the rest of the batch is still sent",
        .enabled(if: Privilege.isRoot))
    func vanishing() async throws {
        let setup = [
            "link set lo up", "route add local 10.7.0.0/28 dev lo",
            "route add local 10.8.0.0/28 dev lo",
        ]
        try await Namespace.run(setup) {
            let sink = try Sink()
            let process = try PublisherRun.start(
                "9000 --rate 3000 --workers 2 --json --quiet --sources 10.7.0.0/28,10.8.0.0/28",
                to: sink.endpoint)
            try await eventually("some datagrams") { sink.count > 500 }
            try Namespace.ip("route del local 10.8.0.0/28 dev lo")
            let report = try await PublisherRun(ending: process).report
            #expect(report.attempted == 9000 && report.sent + report.failed == 9000)
            #expect(report.errors.keys.elementsEqual(["ENETUNREACH"]), "\(report)")
            #expect(report.failed > 100)
            try await eventually("what was sent") { sink.arrivals == report.sent }
            let staying = try sink.numbers().filter { $0.key.v4 >> 16 == 0x0a07 }
            // 14 of 28 sources; each has an equal share but for the last round.
            #expect(staying.values.map(\.count).reduce(0, +) >= 4500)
        }
    }

    @Test(
        "a run that cannot begin prints the cause and a remedy, and exits 1",
        arguments: [
            ("127.0.0.1 9 1 --sources 192.0.2.7", ["192.0.2.7", "ip addr add 192.0.2.7/32"]),
            ("127.0.0.1 9 1 --sources 127.0.0.1,192.0.2.7", ["192.0.2.7", "ip route add local"]),
            ("::1 9 1 --sources 2001:db8::7", ["2001:db8::7/128", "ip -6 route add local"]),
            ("192.0.2.1 9 1 --sources 127.0.0.1", ["192.0.2.1:9", "cannot be reached"]),
            ("fe80::1%no-such-if 9 1", ["no-such-if", "ENODEV"]),
        ])
    func startErrors(words: String, says: [String]) async throws {
        let run = try await PublisherRun(words)
        #expect(run.code == 1 && run.output == [])
        for part in says { #expect(run.errors.joined().contains(part), "\(run.errors)") }
        #expect(run.errors.count == 1 && run.errors[0].hasPrefix("publisher: "))
    }

    @Test(
        "bad usage names the argument and the valid values, and exits 2",
        arguments: [
            ("", ["<ip>"]),
            ("127.0.0.1", ["<port>"]),
            ("127.0.0.1 9", ["<n>"]),
            ("localhost 9 1", ["localhost", "<ip>", "192.0.2.1"]),
            ("0.0.0.0 9 1", ["<ip>", "receiver's own address"]),
            ("127.0.0.1 0 1", ["<port>", "1 to 65535"]),
            ("127.0.0.1 65536 1", ["<port>", "1 to 65535"]),
            ("127.0.0.1 9 many", ["<n>", "0 = for ever"]),
            ("127.0.0.1 9 1 stray", ["stray"]),
            ("127.0.0.1 9 1 --no-such-flag", ["--no-such-flag"]),
            ("127.0.0.1 9 1 --rate fast", ["--rate", "as fast as possible"]),
            ("127.0.0.1 9 1 --rate=-1", ["--rate", "as fast as possible"]),
            ("127.0.0.1 9 1 --rate -1", ["--rate", "as fast as possible"]),
            ("127.0.0.1 9 1 --duration -3", ["--duration", "0.001"]),
            ("127.0.0.1 9 1 --workers -2", ["--workers", "1 to 256"]),
            ("127.0.0.1 9 1 --rate nan", ["--rate", "as fast as possible"]),
            ("127.0.0.1 9 1 --duration 0", ["--duration", "0.001"]),
            ("127.0.0.1 9 1 --size 13", ["--size 13", "give 14"]),
            ("127.0.0.1 9 11 --size 14", ["--size 14", "give 15"]),
            ("127.0.0.1 9 0 --size 31", ["--size 31", "give 32", "or an N"]),
            ("127.0.0.1 9 1 --size 65508", ["--size 65508", "give 65507"]),
            ("::1 9 1 --size 65488", ["--size 65488", "give 65487"]),
            ("127.0.0.1 9 1 --workers 0", ["--workers", "1 to 256"]),
            ("127.0.0.1 9 1 --workers 257", ["--workers", "1 to 256"]),
            ("127.0.0.1 9 1 --sources ::1", ["--sources", "IPv6", "IPv4"]),
            ("127.0.0.1 9 1 --sources 127.0.0.1,::1", ["--sources", "two families"]),
            ("127.0.0.1 9 1 --sources 127.0.0.0/15", ["--sources", "/16"]),
            ("127.0.0.1 9 1 --sources 127.0.0.1/24", ["--sources", "127.0.0.0/24"]),
            ("127.0.0.1 9 1 --sources 127.0.0.1,,", ["--sources", "10.0.0.1,10.0.1.0/24"]),
            ("127.0.0.1 9 1 --sources 127.0.0.1,127.0.0.0/30", ["--sources", "twice"]),
            ("127.0.0.1 9 1 --connect --sources 127.0.0.0/21", ["--connect", "1024", "2048"]),
        ])
    func badUsage(words: String, says: [String]) async throws {
        let run = try await PublisherRun(words)
        #expect(run.code == 2 && run.output == [])
        // The first line only: the usage below it names every argument.
        let message = try #require(run.errors.first)
        for part in says { #expect(message.contains(part), "\(run.errors)") }
    }

    @Test("--help names every argument, --version the version, and both exit 0")
    func help() async throws {
        let version = try await PublisherRun("--version")
        #expect(version.code == 0 && version.errors == [])
        #expect(version.output.first?.wholeMatch(of: /\d+\.\d+\.\d+/) != nil)
        let run = try await PublisherRun("--help")
        #expect(run.code == 0 && run.errors == [])
        for word in [
            "<ip>", "<port>", "<n>", "--rate", "--size", "--sources", "--duration", "--workers",
            "--connect", "--quiet", "--json",
        ] { #expect(run.output.joined().contains(word), "\(word)") }
    }
}
