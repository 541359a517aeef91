// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutMetrics
import Testing
import Tiers

@Suite("clients that mean no good", .tags(.network), .serialized)
struct HostileClientTests {
    private static let refusedMetric = "udp_fanout_metrics_connections_refused_total"

    @Test("500 clients that never finish a request do not keep a scrape out")
    func slowClients() async throws {
        let (reply, refused) = try await withServer { port in
            let clients = try (0..<500).map { number in
                let client = try RawClient(port: port)
                client.send("GET /metrics HTTP/1.1\r\nX-Slow-\(number): ")
                return client
            }
            let reply = try RawClient(port: port).get("/metrics")
            return withExtendedLifetime(clients) {
                (reply, value(of: Self.refusedMetric, in: reply.text))
            }
        }
        #expect(reply.status == 200)
        // 501 have come and 64 may stay.
        #expect(refused == 501 - 64)
    }

    @Test("500 clients that ask for a large page and do not read it do not keep a scrape out")
    func unreadAnswers() async throws {
        var limits = patient
        limits.stallTime = .zero
        let reply = try await withServer(limits, snapshot: { .large }) { port in
            let clients = try (0..<500).map { _ in
                let client = try RawClient(port: port, receiveBufferBytes: 4096)
                client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return client
            }
            return try withExtendedLifetime(clients) {
                try eventually { try? RawClient(port: port).get("/healthz") }
            }
        }
        #expect(reply.status == 200)
    }

    @Test("when every connection awaits its answer, a newcomer is closed at once and counted")
    func full() async throws {
        var limits = patient
        limits.connections = 4
        let gate = Gate()
        let snapshot: @Sendable () async -> DaemonSnapshot = {
            await gate.pass()
            return .of([])
        }
        let (turnedAway, replies) = try await withServer(limits, snapshot: snapshot) { port in
            let clients = try (0..<4).map { _ in try RawClient(port: port) }
            defer { gate.open() }
            for client in clients { try client.ask() }
            let turnedAway = try RawClient(port: port).rest()
            gate.open()
            return (turnedAway, try clients.map { try $0.reply() })
        }
        #expect(turnedAway.isEmpty)
        #expect(replies.map(\.status) == [200, 200, 200, 200])
        #expect(replies.allSatisfy { value(of: Self.refusedMetric, in: $0.text) ?? 0 >= 1 })
    }

    @Test("the client longest without a request makes room, not one that has been answered")
    func whoMakesRoom() async throws {
        var limits = patient
        limits.connections = 2
        let (idle, scraper) = try await withServer(limits) { port in
            let scraper = try RawClient(port: port)
            let first = try scraper.get("/healthz")
            let idle = try RawClient(port: port)
            let third = try RawClient(port: port).get("/healthz")
            #expect(first.status == 200 && third.status == 200)
            return (idle.waitForClose(), try scraper.get("/healthz").status)
        }
        #expect(idle && scraper == 200)
    }

    @Test("clients that ask while a snapshot is being taken share the next one")
    func sharedSnapshot() async throws {
        let gate = Gate()
        let snapshot: @Sendable () async -> DaemonSnapshot = {
            await gate.pass()
            return .of([])
        }
        let statuses = try await withServer(snapshot: snapshot) { port in
            let clients = try (0..<20).map { _ in try RawClient(port: port) }
            defer { gate.open() }
            for client in clients { try client.ask() }
            try #require(gate.waitForArrivals(1))
            // One more turn of the server, so that it has taken up the last request, too.
            _ = try RawClient(port: port).get("/healthz")
            gate.open()
            return try clients.map { try $0.reply().status }
        }
        #expect(statuses == Array(repeating: 200, count: 20))
        #expect(gate.arrived == 2)
    }

    @Test(
        "a header beyond the limit is answered with 431, and the answer arrives",
        arguments: [
            "GET /metrics HTTP/1.1\r\nX: " + String(repeating: "x", count: 1 << 20),
            "GET /metrics HTTP/1.1\r\n" + String(repeating: "A: b\r\n", count: 1 << 17),
            "GET /" + String(repeating: "x", count: 1 << 20),
            // Far below the limit of the parser.
            "GET /metrics HTTP/1.1\r\nX: " + String(repeating: "x", count: 17_000),
        ])
    func largeHeader(request: String) async throws {
        let (reply, after) = try await withServer { port in
            let client = try RawClient(port: port)
            let isTaken = client.send(request)
            let reply = try client.reply()
            client.finishSending()
            #expect(isTaken)
            return (reply, try client.rest(resetIsFine: false))
        }
        #expect(reply.status == 431 && reply.header("connection") == "close" && after.isEmpty)
    }

    @Test("a header within the limit is fine, also when it comes behind many others")
    func longHeader() async throws {
        let header = "X: " + String(repeating: "x", count: 15_000) + "\r\n"
        let statuses = try await withServer { port in
            let client = try RawClient(port: port)
            return try (0..<5).map { _ in try client.get("/healthz", header: header).status }
        }
        #expect(statuses == [200, 200, 200, 200, 200])
    }

    @Test("garbage is answered with 400 or nothing, and the next client is served")
    func garbage() async throws {
        var generator = SystemRandomNumberGenerator()
        var pieces: [[UInt8]] = (0..<50).map { _ in
            (0..<3000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
        pieces += [
            "\0\0\0\0", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/2.0\r\n\r\n",
            "\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\nA\u{0}: b\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0",
            "HTTP/1.1 200 OK\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}",
        ].map { Array($0.utf8) }
        let (answers, last) = try await withServer { [pieces] port in
            let answers = try pieces.map { piece in
                let client = try RawClient(port: port)
                client.send(piece)
                client.finishSending()
                return String(decoding: try client.rest(), as: UTF8.self)
            }
            return (answers, try RawClient(port: port).get("/healthz"))
        }
        for (piece, answer) in zip(pieces, answers) {
            let isRefusal = answer.hasPrefix("HTTP/1.1 4") && !answer.contains(" 200 ")
            #expect(answer.isEmpty || isRefusal, "\(piece.prefix(60)): \(answer)")
        }
        #expect(answers.contains { $0.hasPrefix("HTTP/1.1 400 ") })
        #expect(last.status == 200)
    }

    @Test("garbage behind a good request does not cost its answer")
    func garbageBehind() async throws {
        let statuses = try await withServer { port in
            let client = try RawClient(port: port)
            client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n\0\0garbage\r\n\r\n")
            return [try client.reply().status, try client.reply().status]
        }
        #expect(statuses == [200, 400])
    }
}

extension RawClient {
    /// Requests the metrics, and returns when the server has read the request: it is sent together with an earlier
    /// request, which has been answered.
    fileprivate func ask() throws {
        let requests = ["/healthz", "/metrics"].map {
            "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n"
        }
        send(requests.joined())
        _ = try reply()
    }
}
