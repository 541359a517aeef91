// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet
import Synchronization
import Testing

@testable import FanoutDiscovery

extension DiscoveryTests {
    @Suite("Receivers by DNS")
    struct DNSTests {
        let log = LogRecorder()
    }
}

extension DiscoveryTests.DNSTests {
    @Test("addresses of both families, by an alias or several")
    func aliases() async throws {
        let server = try FakeDNS()
        server.set([
            .alias("r.example", to: "b.example"), .alias("b.example", to: "c.example"),
            .address("c.example", "10.0.0.1"), .address("c.example", "fd00::1"),
            .address("d.example", "10.0.0.9"),
        ])
        let follower = Follower(server.source(log: log, port: 9000))
        try await eventually("both are there") {
            follower.addresses == ["10.0.0.1", "fd00::1"]
        }
    }

    @Test("SRV records give hosts, ports and weights; the most wanted priority alone takes part")
    func services() async throws {
        let server = try FakeDNS()
        server.set([
            .service("_s._udp.example", "a.example", port: 9001, priority: 1, weight: 5),
            .service("_s._udp.example", "b.example", port: 9002, priority: 1, weight: 0),
            .service("_s._udp.example", "c.example", port: 9003, priority: 2),
            .address("a.example", "10.0.0.1"), .address("a.example", "fd00::1"),
            .address("b.example", "10.0.0.2"), .address("c.example", "10.0.0.3"),
        ])
        let follower = Follower(server.source(log: log, name: "_s._udp.example"))
        try await follower.shows("10.0.0.1", "10.0.0.2", "fd00::1")
        let found = try #require(follower.sets.last).endpoints
        #expect(found.map(\.ports.first?.number) == [9001, 9002, 9001])
        #expect(found.map(\.weight) == [5, 1, 5])
        #expect(found.map(\.name) == ["a.example", "b.example", "a.example"])
        #expect(follower.sets.count == follower.sets.count { !$0.endpoints.isEmpty })
        server.set([
            .service("_s._udp.example", "a.example", port: 9001, priority: 1),
            .service("_s._udp.example", "c.example", port: 9003, priority: 2),
            .alias("a.example", to: "nowhere.example"), .address("c.example", "10.0.0.3"),
        ])
        try await follower.shows("10.0.0.3")
    }

    @Test("an answer that does not fit into a datagram is asked for by TCP")
    func truncated() async throws {
        let server = try FakeDNS()
        server.set((1...60).map { .address("r.example", "10.0.0.\($0)", ttl: 60) })
        server.change { $0.truncates = true }
        let follower = Follower(server.source(log: log, port: 9000))
        try await eventually("all are there") { follower.addresses?.count == 60 }
        #expect(server.questions.contains { $0.byTCP })
    }

    @Test("a reply with another id, or to another question, is ignored")
    func forged() async throws {
        let server = try FakeDNS()
        server.set([.address("r.example", "10.0.0.1")])
        server.change { $0.isForged = true }
        let follower = Follower(server.source(log: log, port: 9000))
        try await follower.shows("10.0.0.1")
        #expect(follower.sets.allSatisfy { $0.endpoints.count == 1 })
    }

    @Test("it asks again when the TTL is over, and not before")
    func ttl() async throws {
        let server = try FakeDNS()
        server.set([
            .address("r.example", "10.0.0.1", ttl: 1), .address("r.example", "fd00::1", ttl: 600),
        ])
        let follower = Follower(server.source(log: log, port: 9000))
        try await eventually("it asks again") { server.questions.count { $0.type == 1 } == 2 }
        let times = server.questions.filter { $0.type == 1 }.map(\.at)
        #expect(times[1] - times[0] >= .seconds(1))
        #expect(follower.relists(.expired) >= 1)
    }

    @Test("a server that does not answer gives way to the next; one line tells when none does")
    func servers() async throws {
        let (mute, server) = (try FakeDNS(), try FakeDNS())
        mute.change { $0.isSilent = true }
        server.set([.address("r.example", "10.0.0.1")])
        let follower = Follower(server.source(log: log, port: 9000, others: [mute.endpoint]))
        try await follower.shows("10.0.0.1")
        #expect(mute.questions.count >= 2)
        let message = "dns discovery: no answer, the last-known receivers stay active"
        #expect(log.count(message) == 0)
        server.change { $0.isSilent = true }
        try await follower.counts(error: "timeout", times: 3)
        #expect(log.count(message) == 1)
        server.change { $0.isSilent = false }
        try await eventually("it says that it is over") {
            log.count("dns discovery: the servers answer again") == 1
        }
    }

    @Test("a name that is not there is an answer; a refusal is none")
    func codes() async throws {
        let server = try FakeDNS()
        let follower = Follower(server.source(log: log, port: 9000))
        try await follower.shows()
        #expect(follower.source.status.errors.isEmpty)
        let other = try FakeDNS()
        other.fail(code: 5)
        let refused = Follower(other.source(log: log, port: 9000))
        try await refused.counts(error: "refused")
        #expect(refused.sets.isEmpty)
    }

    @Test("an alias loop and a reply about other names are no answers")
    func loops() async throws {
        let server = try FakeDNS()
        server.set([.address("r.example", "10.0.0.1", ttl: 1)])
        let follower = Follower(server.source(log: log, port: 9000))
        try await follower.shows("10.0.0.1")
        server.set([
            .alias("r.example", to: "b.example"), .alias("b.example", to: "r.example"),
        ])
        try await follower.counts(error: "malformed", times: 2)
        server.set([.alias("r.example", to: "r.example")])
        try await follower.counts(error: "malformed", times: 5)
        server.change { $0.answersAlways = true }
        server.set([.address("evil.example", "10.0.0.9")])
        try await follower.counts(error: "malformed", times: 8)
        #expect(follower.sets.allSatisfy { $0.endpoints.count == 1 })
    }

    @Test(
        "each way to fail has its code",
        arguments: [(1, "rcode"), (2, "servfail"), (4, "rcode"), (5, "refused"), (9, "rcode")])
    func failures(response: UInt8, code: String) async throws {
        let server = try FakeDNS()
        server.set([.address("r.example", "10.0.0.1")])
        server.fail(code: response)
        let failure = await #expect(throws: DNSFailure.self) {
            try await server.resolver().ask("r.example", .a)
        }
        #expect(failure?.code == code)
        #expect(failure?.detail.contains("\(server.endpoint)") == true)
    }

    @Test("silence is a timeout, a port without a server a connection error")
    func unreachable() async throws {
        let server = try FakeDNS()
        server.change { $0.isSilent = true }
        let silence = await #expect(throws: DNSFailure.self) {
            try await server.resolver().ask("r.example", .a)
        }
        #expect(silence?.code == "timeout")
        let closed = Endpoint(.loopback, port: 9)
        let refusal = await #expect(throws: DNSFailure.self) {
            try await DNSResolver(servers: [closed], timeout: 1, attempts: 1).ask("r.example", .a)
        }
        #expect(refusal?.code == "connection")
    }

    @Test("a server that refuses or fails gives way to the next", arguments: [2, 4, 5] as [UInt8])
    func next(response: UInt8) async throws {
        let (bad, good) = (try FakeDNS(), try FakeDNS())
        bad.fail(code: response)
        good.set([.address("r.example", "10.0.0.1")])
        let answer = try await good.resolver(others: [bad.endpoint]).ask("r.example", .a)
        #expect(answer.records.map(\.value) == [.address(IPAddress(v4: 0x0a00_0001))])
        #expect(bad.questions.count == 1)
    }

    @Test("a server with an IPv6 address, and one that knows no EDNS")
    func otherServers() async throws {
        let server = try FakeDNS(host: "::1")
        server.set([.address("r.example", "fd00::1", ttl: 7)])
        server.change { $0.isOld = true }
        let answer = try await server.resolver().ask("r.example", .aaaa)
        #expect(answer.ttl == .seconds(7))
        #expect(answer.records.map(\.name) == ["r.example"])
        #expect(server.questions.count == 2)
    }

    @Test("a question that is cancelled returns at once, although the server is silent")
    func cancelled() async throws {
        let server = try FakeDNS()
        server.change { $0.isSilent = true }
        let resolver = DNSResolver(servers: [server.endpoint], timeout: 30, attempts: 5)
        let question = Task { try await resolver.ask("r.example", .a) }
        try await eventually("it is asked") { !server.questions.isEmpty }
        let begin = ContinuousClock.now
        question.cancel()
        await #expect(throws: DNSFailure.self) { try await question.value }
        #expect(ContinuousClock.now - begin < .seconds(5))
    }

    @Test(
        "a reply that lies about its lengths, or leads in circles, is a failure",
        .timeLimit(.minutes(2)))
    func malformed() async throws {
        let server = try FakeDNS()
        let records: [FakeDNS.Record] = [
            .alias("r.example", to: "a.example"), .address("a.example", "10.0.0.1"),
            .service("r.example", "a.example", port: 9),
        ]
        server.set(records)
        // What an answer has in bytes.
        let size = Mutex(0)
        server.change {
            $0.answersAlways = true
            $0.spoils = { answer in
                size.withLock { $0 = answer.count }
                return answer
            }
        }
        let resolver = server.resolver()
        let whole = try await resolver.ask("r.example", .a)
        #expect(whole.records.count == 2)
        let question = 12 + "r.example".utf8.count + 2 + 4
        let length = size.withLock { $0 }
        func code(_ spoils: @escaping @Sendable ([UInt8]) -> [UInt8]) async -> String? {
            server.change { $0.spoils = spoils }
            do throws(DNSFailure) {
                _ = try await resolver.ask("r.example", .a)
                return nil
            } catch {
                return error.code
            }
        }
        for count in question..<length {
            #expect(await code { Array($0.prefix(count)) } == "malformed", "\(count) bytes")
        }
        // The name of the first record, and what it is an alias of, point to themselves.
        for place in [question, question + 11 + 10] {
            #expect(
                await code {
                    $0[..<place] + [0xc0 | UInt8(place >> 8), UInt8(place & 0xff)]
                        + $0[(place + 2)...]
                } == "malformed")
        }
        for _ in 0..<2000 {
            let changes = (0..<Int.random(in: 1...6)).map { _ in
                (Int.random(in: question..<length), UInt8.random(in: 0...255))
            }
            let code = await code { answer in
                changes.reduce(into: answer) { $0[$1.0] = $1.1 }
            }
            #expect(code == nil || code == "malformed", "\(changes)")
        }
    }
}
