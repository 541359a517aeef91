// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

extension DaemonTests {
    @Suite("A reload that changes the metrics server or an address")
    struct ReloadMetricsTests {}
}

extension DaemonTests.ReloadMetricsTests {
    /// The `metrics` section before and after; its ports are added to a free one.
    struct Move: CustomTestStringConvertible {
        let from: (address: String, port: UInt16, path: String)
        let to: (address: String, port: UInt16, path: String)
        var testDescription: String { "\(from) → \(to)" }
    }

    @Test(
        "moves the metrics to another port, path or address",
        arguments: [
            Move(from: ("127.0.0.1", 0, "/metrics"), to: ("127.0.0.1", 1, "/metrics")),
            Move(from: ("127.0.0.1", 0, "/metrics"), to: ("127.0.0.1", 0, "/m")),
            Move(from: ("0.0.0.0", 0, "/metrics"), to: ("127.0.0.1", 0, "/metrics")),
            Move(from: ("127.0.0.1", 0, "/metrics"), to: ("0.0.0.0", 0, "/metrics")),
            Move(from: ("127.0.0.1", 0, "/metrics"), to: ("[::]", 0, "/metrics")),
        ])
    func moves(move: Move) async throws {
        var config = try ConfigText.simple(metrics: true)
        let ports = [try #require(config.metricsPort), try Ports.free()]
        config.metricsAddress = move.from.address
        config.metricsPath = move.from.path
        try await DaemonUnderTest.running(config.yaml) { daemon in
            config.metricsAddress = move.to.address
            config.metricsPort = ports[Int(move.to.port)]
            config.metricsPath = move.to.path
            try await daemon.swap(config)
            let page = try await MetricsPage.scrape(
                ports[Int(move.to.port)], path: move.to.path)
            #expect(page.count("workers") == 1)
            if move.from.port != move.to.port { #expect(try !SocketTable.serves(ports[0])) }
            try await daemon.stop()
            #expect(daemon.log.count { $0.level == "error" } == 0)
        }
    }

    @Test("switches the metrics off and on")
    func offAndOn() async throws {
        var config = try ConfigText.simple()
        let port = try Ports.free()
        try await DaemonUnderTest.running(config.yaml) { daemon in
            for wanted in [port, nil, port] {
                config.metricsPort = wanted
                try await daemon.swap(config)
                #expect(
                    try await SocketTable.ports(of: daemon.pid).contains(port) == (wanted != nil))
            }
            try await daemon.stop()
        }
    }

    @Test("to a taken metrics port changes nothing, and one log line names the port")
    func takenMetricsPort() async throws {
        let before = try ConfigText.simple(metrics: true)
        let port = try #require(before.metricsPort)
        var after = before
        after.metricsPort = try Ports.free()
        after.listeners[0].port = try Ports.free()
        let holder = try HeldPort(try #require(after.metricsPort), SOCK_STREAM, listens: true)
        try await DaemonUnderTest.running(before.yaml) { daemon in
            try await daemon.refuse(after)
            let errors = daemon.log.filter { $0.level == "error" }
            #expect(errors.count == 1)
            let said = errors[0].fields["error"] ?? ""
            #expect(
                said.contains(
                    "metrics server error: metrics.bind 127.0.0.1:\(holder.port): EADDRINUSE"),
                "\(said)")
            let page = try await MetricsPage.scrape(port)
            #expect(page.value("udp_fanout_config_last_reload_successful") == 0)
            #expect(
                try await SocketTable.ports(of: daemon.pid) == [before.listeners[0].port, port])
            try await daemon.stop()
        }
    }

    @Test("whose listener cannot be opened leaves the metrics server where it was")
    func takenListenerPort() async throws {
        let before = try ConfigText.simple(metrics: true)
        let port = try #require(before.metricsPort)
        var after = before
        after.listeners[0].port = try Ports.free()
        after.metricsPath = "/elsewhere"
        let holder = try HeldPort(after.listeners[0].port, SOCK_DGRAM)
        try await DaemonUnderTest.running(before.yaml) { daemon in
            for metricsPort in [port, try Ports.free()] {
                after.metricsPort = metricsPort
                try await daemon.refuse(after)
                let said = daemon.log.last { $0.level == "error" }?.fields["error"] ?? ""
                #expect(said.contains("listener in on 127.0.0.1:\(holder.port): EADDRINUSE"))
                #expect(try await MetricsPage.scrape(port).count("workers") == 1)
                #expect(
                    try await SocketTable.ports(of: daemon.pid) == [before.listeners[0].port, port])
            }
            try await daemon.stop()
        }
    }
}
