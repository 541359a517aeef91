// SPDX-License-Identifier: Apache-2.0

import FanoutMetrics
import Synchronization
import Testing
import Tiers

@Suite("requests to the metrics server", .tags(.network))
struct RequestTests {
    @Test("GET of the metrics path answers with the page and its content type")
    func get() async throws {
        let reply = try await withServer { try RawClient(port: $0).get("/metrics") }
        #expect(reply.status == 200)
        #expect(reply.header("content-type") == "text/plain; version=0.0.4; charset=utf-8")
        #expect(reply.text.contains(#"udp_fanout_packets_received_total{listener="one""#))
        #expect(reply.text.contains("process_resident_memory_bytes "))
    }

    @Test("HEAD answers with GET's header and no body")
    func head() async throws {
        let (head, next) = try await withServer { port in
            let client = try RawClient(port: port)
            client.send("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let head = try client.reply(toHead: true)
            return (head, try client.get("/healthz"))
        }
        #expect(head.status == 200 && head.header("content-length") == "3")
        // A body would have stood before this answer.
        #expect(next.status == 200 && next.text == "ok\n")
    }

    @Test("/healthz answers ok")
    func health() async throws {
        let reply = try await withServer { try RawClient(port: $0).get("/healthz") }
        #expect(reply.status == 200 && reply.text == "ok\n")
        #expect(reply.header("content-type") == "text/plain; charset=utf-8")
    }

    @Test("/readyz answers 200 while there is service, else 503 and the reason")
    func readiness() async throws {
        let obstacle = Mutex<String?>("starting")
        let replies = try await withServer(readiness: { obstacle.withLock { $0 } }) { port in
            let client = try RawClient(port: port)
            let before = try client.get("/readyz")
            obstacle.withLock { $0 = nil }
            return (before, try client.get("/readyz"), try client.get("/healthz"))
        }
        #expect(replies.0.status == 503 && replies.0.text == "starting\n")
        #expect(replies.1.status == 200 && replies.1.text == "ready\n")
        #expect(replies.2.status == 200)
    }

    @Test("/healthz and /readyz answer 503 and the reason while the daemon does not do its work")
    func liveness() async throws {
        let hang = Mutex<String?>("worker in/0 has made no progress for 12 s")
        let replies = try await withServer(liveness: { hang.withLock { $0 } }) { port in
            let client = try RawClient(port: port)
            let before = try ["/healthz", "/readyz"].map { try client.get($0) }
            hang.withLock { $0 = nil }
            return (before, try ["/healthz", "/readyz"].map { try client.get($0).status })
        }
        for reply in replies.0 {
            #expect(reply.status == 503)
            #expect(reply.text == "worker in/0 has made no progress for 12 s\n")
        }
        #expect(replies.1 == [200, 200])
    }

    @Test("the metrics are where the configuration wants them, and only there")
    func configuredPath() async throws {
        let statuses = try await withServer(path: "/inner/page") { port in
            let client = try RawClient(port: port)
            return try ["/inner/page", "/metrics"].map { try client.get($0).status }
        }
        #expect(statuses == [200, 404])
    }

    @Test("a URL without a path asks for the root")
    func emptyPath() async throws {
        let reply = try await withServer(path: "/") {
            try RawClient(port: $0).get("http://a.example")
        }
        #expect(reply.status == 200)
    }

    @Test(
        "a query or fragment is ignored and a target may be a whole URL",
        arguments: [
            ("/metrics?name=x", 200), ("/metrics#part", 200), ("http://a.example/metrics", 200),
            ("HTTP://a.example:1/metrics?x", 200), ("https://a.example/healthz", 200),
            ("http://a.example", 200), ("http://a.example?/metrics", 200), ("/", 200),
            ("/metrics/", 404), ("/metricsx", 404), ("/METRICS", 404), ("//metrics", 404),
            ("/x/../metrics", 404),
        ])
    func targets(target: String, status: Int) async throws {
        let reply = try await withServer { try RawClient(port: $0).get(target) }
        #expect(reply.status == status)
    }

    @Test(
        "methods other than GET and HEAD are refused and the allowed ones named",
        arguments: ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "PROPFIND"])
    func otherMethods(method: String) async throws {
        let (refusal, next) = try await withServer { port in
            let client = try RawClient(port: port)
            client.send("\(method) /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return (try client.reply(), try client.get("/healthz"))
        }
        #expect(refusal.status == 405 && refusal.header("allow") == "get, head")
        #expect(next.status == 200)
    }

    @Test("CONNECT is refused and ends the connection")
    func connect() async throws {
        let rest = try await withServer { port in
            let client = try RawClient(port: port)
            client.send("CONNECT a.example:1 HTTP/1.1\r\nHost: a.example:1\r\n\r\n")
            return try client.rest()
        }
        #expect(String(decoding: rest, as: UTF8.self).hasPrefix("HTTP/1.1 405 "))
    }

    @Test("a wish to upgrade is not followed; the answer ends the connection")
    func upgrade() async throws {
        let rest = try await withServer { port in
            let client = try RawClient(port: port)
            client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n")
            client.send("Upgrade: h2c\r\n\r\n")
            return try client.rest()
        }
        let text = String(decoding: rest, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 200 ") && text.hasSuffix("\r\n\r\nok\n"))
    }

    @Test(
        "a body is refused before it comes, and the refusal arrives although it comes",
        arguments: [
            ("GET", "Content-Length: 100000", 413), ("HEAD", "Transfer-Encoding: chunked", 413),
            ("POST", "Content-Length: 100000", 405), ("GET", "Content-Length: 00", 413),
        ])
    func bodies(method: String, header: String, status: Int) async throws {
        let reply = try await withServer { port in
            let client = try RawClient(port: port)
            client.send("\(method) /metrics HTTP/1.1\r\nHost: localhost\r\n\(header)\r\n\r\n")
            let isTaken = client.send(repeatElement(UInt8(ascii: "x"), count: 100_000))
            let reply = try client.reply(toHead: method == "HEAD")
            client.finishSending()
            let after = try client.rest(resetIsFine: false)
            #expect(isTaken && after.isEmpty)
            return reply
        }
        #expect(reply.status == status && reply.header("connection") == "close")
    }

    @Test("many requests on one connection are answered in order, also when sent at once")
    func pipelining() async throws {
        let statuses = try await withServer { port in
            let client = try RawClient(port: port)
            let pair = ["/healthz", "/nowhere"].map {
                "GET \($0) HTTP/1.1\r\nHost: localhost\r\n\r\n"
            }
            client.send(String(repeating: pair.joined(), count: 500))
            return try (0..<1000).map { _ in try client.reply().status }
        }
        #expect(statuses == (0..<1000).map { $0 % 2 == 0 ? 200 : 404 })
    }

    @Test("HTTP/1.0 ends with the answer unless it asks to be kept alive")
    func http10() async throws {
        let (ended, kept) = try await withServer { port in
            let ending = try RawClient(port: port)
            ending.send("GET /healthz HTTP/1.0\r\n\r\n")
            let ended = try ending.rest()
            let keeping = try RawClient(port: port)
            let request = "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
            keeping.send(request)
            let first = try keeping.reply()
            keeping.send(request)
            return (ended, (first, try keeping.reply()))
        }
        let text = String(decoding: ended, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.0 200 ") && text.hasSuffix("ok\n"))
        #expect(kept.0.header("connection") == "keep-alive" && kept.1.status == 200)
    }

    @Test("a client that closes its side after asking still gets the answer")
    func halfClose() async throws {
        let text = try await withServer { port in
            let client = try RawClient(port: port)
            client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            client.finishSending()
            return String(decoding: try client.rest(), as: UTF8.self)
        }
        #expect(text.hasPrefix("HTTP/1.1 200 ") && text.contains("udp_fanout_build_info"))
    }

    @Test(
        "a request without Host, or with two, is refused",
        arguments: [
            ("GET /metrics HTTP/1.1\r\n\r\n", 400),
            ("GET /metrics HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
            ("GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("GET /healthz HTTP/1.0\r\n\r\n", 200),
            ("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 200),
            ("GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", 200),
        ])
    func hostCount(request: String, status: Int) async throws {
        let reply = try await withServer { port in
            let client = try RawClient(port: port)
            client.send(request)
            return try client.reply()
        }
        #expect(reply.status == status)
    }

    /// Pages of other sites may have their own names point to this host.
    @Test(
        "the status page and its numbers are for addresses, localhost and names of this host alone",
        arguments: [
            ("localhost", 200), ("LOCALHOST:9090", 200), ("127.0.0.1:9090", 200),
            ("[::1]:9090", 200),
            ("[::1]", 200), ("192.0.2.7", 200), ("node1.example.com", 200),
            ("Node1.Example.com.:80", 200),
            ("attacker.example", 421), ("localhost.attacker.example", 421),
            ("127.0.0.1.example", 421),
            ("[::1", 421), ("", 421),
        ])
    func rebinding(host: String, status: Int) async throws {
        let statuses = try await withServer(names: ["node1.example.com"]) { port in
            try ["/", "/status.json", "/metrics", "/healthz", "/readyz"].map { target in
                let client = try RawClient(port: port)
                client.send("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                return try client.reply().status
            }
        }
        #expect(statuses == [status, status, 200, 200, 200], "\(host)")
    }
}
