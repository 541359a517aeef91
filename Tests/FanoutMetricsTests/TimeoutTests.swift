// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutMetrics
import Glibc
import Testing
import Tiers

@Suite("the metrics server's time limits", .tags(.network))
struct TimeoutTests {
    private static let short = Duration.milliseconds(200)

    @Test("a client that says nothing is closed when the time for a request is over")
    func silent() async throws {
        var limits = patient
        limits.requestTime = Self.short
        let rest = try await withServer(limits) { try RawClient(port: $0).rest() }
        #expect(rest.isEmpty)
    }

    @Test("a byte now and then does not buy more time for a request")
    func trickle() async throws {
        var limits = patient
        limits.requestTime = Self.short
        let sent = try await withServer(limits) { port in
            let client = try RawClient(port: port)
            client.send("GET /metrics HTTP/1.1\r\nX: ")
            var sent = 0
            // One byte each 10 ms, for as long as the server leaves the connection open.
            var waited = pollfd(fd: client.socket, events: Int16(POLLIN), revents: 0)
            while sent < 2000, poll(&waited, 1, 10) == 0 {
                client.send("x")
                sent += 1
            }
            return sent
        }
        #expect((1..<2000).contains(sent))
    }

    @Test("a connection that is kept alive is closed when it stays idle")
    func idle() async throws {
        var limits = patient
        limits.idleTime = Self.short
        let rest = try await withServer(limits) { port in
            let client = try RawClient(port: port)
            #expect(try client.get("/healthz").status == 200)
            return try client.rest()
        }
        #expect(rest.isEmpty)
    }

    @Test("a later request that is begun must be finished in the time for a request")
    func laterRequest() async throws {
        var limits = patient
        limits.requestTime = Self.short
        let rest = try await withServer(limits) { port in
            let client = try RawClient(port: port)
            #expect(try client.get("/healthz").status == 200)
            client.send("GET /metr")
            return try client.rest()
        }
        #expect(rest.isEmpty)
    }

    @Test("an answer that is not read in time is cut off")
    func unreadAnswer() async throws {
        var limits = patient
        limits.answerTime = Self.short
        let (closed, rest) = try await withServer(limits, snapshot: { .large }) { port in
            let client = try RawClient(port: port, receiveBufferBytes: 4096)
            client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return (client.waitForClose(), try client.rest())
        }
        #expect(closed)
        #expect(rest.count < page(.large).utf8.count)
    }

    @Test("a snapshot that does not come is answered with 503, and /healthz goes on")
    func hungSnapshot() async throws {
        var limits = patient
        limits.answerTime = Self.short
        let gate = Gate()
        let snapshot: @Sendable () async -> DaemonSnapshot = {
            await gate.pass()
            return .of([])
        }
        let (late, health, recovered) = try await withServer(limits, snapshot: snapshot) { port in
            defer { gate.open() }
            let late = try RawClient(port: port).get("/metrics")
            let health = try RawClient(port: port).get("/healthz")
            gate.open()
            return (late, health, try RawClient(port: port).get("/metrics"))
        }
        #expect(late.status == 503 && late.header("connection") == "close")
        #expect(health.status == 200 && recovered.status == 200)
        #expect(gate.arrived == 2)
    }

    @Test("a client that goes on sending after its last answer is closed when the wait is over")
    func linger() async throws {
        var limits = patient
        limits.lingerTime = Self.short
        let closed = try await withServer(limits) { port in
            let client = try RawClient(port: port)
            let reply = try client.get("/healthz", header: "Connection: close\r\n")
            // Our side stays open: only the server can end this.
            return try eventually { () -> Bool? in
                client.send("x")
                var waited = pollfd(fd: client.socket, events: 0, revents: 0)
                return poll(&waited, 1, 10) == 1 ? reply.status == 200 : nil
            }
        }
        #expect(closed)
    }
}
