// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutMetrics
import Foundation
import Glibc
import Logging
import Testing
import Tiers

@Suite("start and stop of the metrics server", .tags(.network))
struct LifecycleTests {
    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private static func start(
        _ bind: Endpoint, logger: Logger = quiet, limits: MetricsServer.Limits = patient,
        snapshot: @escaping @Sendable () async -> DaemonSnapshot = { .of([]) }
    ) async throws(MetricsServerError) -> MetricsServer {
        try await MetricsServer.start(
            bind: bind, path: "/metrics", logger: logger, limits: limits, snapshot: snapshot)
    }

    @Test("a port in use is named with its errno and the remedy")
    func portInUse() async throws {
        let first = try await Self.start(.loopback(0))
        let bind = first.boundEndpoint
        let error = await #expect(throws: MetricsServerError.self) {
            _ = try await Self.start(bind)
        }
        await first.stop()
        #expect(error?.code == EADDRINUSE)
        #expect(
            "\(try #require(error))" == "metrics.bind \(bind): EADDRINUSE: another process serves "
                + "this port; choose another metrics.bind")
    }

    @Test("an address that this host does not have is named with its errno")
    func foreignAddress() async throws {
        let documentation = Endpoint(IPAddress(v4: 0xc000_0201), port: 9090)
        let error = await #expect(throws: MetricsServerError.self) {
            _ = try await Self.start(documentation)
        }
        let text = "\(try #require(error))"
        #expect(text.hasPrefix("metrics.bind 192.0.2.1:9090: EADDRNOTAVAIL: "))
    }

    @Test("an interface that is not there is an error about metrics.bind")
    func unknownZone() async throws {
        let address = try #require(IPAddress("fe80::1%nosuchif0"))
        let error = await #expect(throws: MetricsServerError.self) {
            _ = try await Self.start(Endpoint(address, port: 9090))
        }
        #expect("\(try #require(error))".hasPrefix("metrics.bind [fe80::1%nosuchif0]:9090: "))
    }

    @Test("the port is served again right after a stop")
    func restart() async throws {
        let first = try await Self.start(.loopback(0))
        let bind = first.boundEndpoint
        let status = try await blocking { try RawClient(port: bind.port).get("/healthz").status }
        await first.stop()
        let second = try await Self.start(bind)
        #expect(second.boundEndpoint == bind && status == 200)
        await second.stop()
    }

    @Test("the start is logged with the address and the path")
    func startIsLogged() async throws {
        let log = Recorder()
        let logger = Logger(label: "test") { _ in log }
        let server = try await Self.start(.loopback(0), logger: logger)
        await server.stop()
        let line = "info metrics server started bind=\(server.boundEndpoint) path=/metrics"
        #expect(log.lines.contains(line))
    }

    @Test("a stop lets a scrape under way end, closes idle clients and refuses new ones")
    func gracefulStop() async throws {
        let gate = Gate()
        let server = try await Self.start(
            .loopback(0),
            snapshot: {
                await gate.pass()
                return .of([])
            })
        let port = server.boundEndpoint.port
        let idleIsClosed = Gate()
        async let scrape = blocking {
            let client = try RawClient(port: port)
            client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return String(decoding: try client.rest(), as: UTF8.self)
        }
        async let idle = blocking {
            defer { gate.open() }
            let client = try RawClient(port: port)
            #expect(try client.get("/healthz").status == 200)
            try #require(gate.waitForArrivals(1))
            idleIsClosed.open()
            // The gate opens only after this close: the stop must not wait for the scrape first.
            return try client.rest().isEmpty
        }
        await idleIsClosed.pass()
        await server.stop()
        let page = try await scrape
        #expect(page.hasPrefix("HTTP/1.1 200 ") && page.contains("udp_fanout_build_info"))
        #expect(try await idle)
        await #expect(throws: RawClient.Failed.self) {
            try await blocking { _ = try RawClient(port: port) }
        }
    }

    @Test("a stop does not wait for ever for a snapshot or a reader, and may be asked twice")
    func boundedStop() async throws {
        var limits = patient
        limits.stopTime = .milliseconds(100)
        let gate = Gate()
        let server = try await Self.start(
            .loopback(0), limits: limits,
            snapshot: {
                await gate.pass()
                return .of([])
            })
        let port = server.boundEndpoint.port
        async let rest = blocking {
            let client = try RawClient(port: port)
            client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return try client.rest()
        }
        #expect(try await blocking { gate.waitForArrivals(1) })
        async let second: Void = server.stop()
        await server.stop()
        await second
        #expect(try await rest.isEmpty)
        gate.open()
    }
}

/// Keeps what was logged as lines of text.
private final class Recorder: LogHandler, @unchecked Sendable {
    private let lock = NSLock()
    private var recorded: [String] = []
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    var lines: [String] { lock.withLock { recorded } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let pairs = (event.metadata ?? [:]).sorted { $0.key < $1.key }
        let words = ["\(event.level)", "\(event.message)"] + pairs.map { "\($0.key)=\($0.value)" }
        lock.withLock { recorded.append(words.joined(separator: " ")) }
    }
}
