// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet
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

    @Test("what answers another question, or cannot be understood, is not believed")
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
        let message = "dns discovery: no answer, the receivers before stay in force"
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

    @Test("a name that leads back to itself, and an answer about other names, are no answers")
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

    @Test("resolv.conf names servers and patience")
    func resolvConf() throws {
        let servers = DNSServers(
            resolvConf: """
                # nameserver 192.0.2.9
                search example.com
                nameserver 192.0.2.1
                nameserver\tfd00::53
                nameserver nonsense
                nameserver 192.0.2.3
                nameserver 192.0.2.4
                options ndots:5 timeout:1 attempts:9
                """)
        #expect(
            servers.servers.map(\.description) == [
                "192.0.2.1:53", "[fd00::53]:53", "192.0.2.3:53",
            ])
        #expect(servers.timeout == .seconds(1) && servers.attempts == 5)
        #expect(DNSServers.system("/nowhere").servers.map(\.description) == ["127.0.0.1:53"])
    }

    @Test("a message that lies about its lengths, or leads in circles, is refused")
    func malformed() throws {
        let question = DNSMessage.question("r.example", .a, id: 7)
        var answer = Array(question.prefix(12))
        answer[2] = 0x81
        (answer[5], answer[7], answer[11]) = (1, 1, 0)
        let body = question[12..<(question.count - 11)]
        func read(_ more: [UInt8]) throws -> DNSMessage? {
            try DNSMessage(answer + body + more, to: "r.example", .a, id: 7)
        }
        let pointer: [UInt8] = [0xc0, 12]
        let good = pointer + [0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 10, 0, 0, 1]
        #expect(try read(good)?.answers.count == 1)
        for count in 0..<good.count {
            #expect(throws: DNSMessage.Malformed.self) { try read(Array(good.prefix(count))) }
        }
        let place = UInt8(answer.count + body.count)
        #expect(throws: DNSMessage.Malformed.self) { try read([0xc0, place] + good.dropFirst(2)) }
        #expect(try DNSMessage(answer + body + good, to: "r.example", .a, id: 8) == nil)
        #expect(try DNSMessage(answer + body + good, to: "x.example", .a, id: 7) == nil)
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            var bytes = answer + body + good
            for _ in 0..<Int.random(in: 1...6) {
                bytes[.random(in: 0..<bytes.count)] = .random(in: 0...255, using: &generator)
            }
            _ = try? DNSMessage(bytes, to: "r.example", .a, id: 7)
        }
    }
}
