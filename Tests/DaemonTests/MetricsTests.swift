// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import Testing

extension DaemonTests {
    @Suite("The metrics page")
    struct MetricsTests {
        /// Expects that received = forwarded + dropped, and that each series of the listener is the sum over its
        /// receivers.
        static func expectBalanced(
            _ page: MetricsPage, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let labels = ["listener": "in", "mode": "userspace"]
            func listener(_ name: String) -> Int { page.count(name, labels) }
            func receivers(_ name: String) -> Int {
                page.count("downstream_\(name)", ["listener": "in"])
            }
            let received = listener("packets_received_total")
            let forwarded = listener("packets_forwarded_total")
            #expect(
                received == forwarded + listener("packets_dropped_total"),
                sourceLocation: sourceLocation)
            for name in [
                "packets_forwarded_total", "bytes_forwarded_total", "packets_dropped_total",
            ] {
                #expect(
                    listener(name) == receivers(name), "\(name)", sourceLocation: sourceLocation)
            }
        }
    }
}

extension DaemonTests.MetricsTests {
    @Test("adds up exactly after a load, in datagrams and bytes, with a dead receiver")
    func accounting() async throws {
        let sinks = try tallyingSinks(2)
        var config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        // No socket listens there, so its host answers with ICMP port unreachable.
        config.listeners[0].receivers.append(
            ConfigText.Receiver(name: "dead", port: try Ports.free()))
        let outcome = try await DaemonUnderTest.underLoad(config, sinks: sinks) { _, load in
            try await load.pass(10_000)
        }
        let page = try #require(outcome.page)
        Self.expectBalanced(page)
        let sent = Int(outcome.delivery.sent)
        #expect(page.count("packets_received_total") == sent)
        #expect(page.count("bytes_received_total") == sent * 64)
        for (receiver, sink) in zip(config.listeners[0].receivers, sinks) {
            let labels = ["downstream": receiver.name]
            #expect(page.count("downstream_packets_forwarded_total", labels) == Int(sink.count))
            #expect(page.count("downstream_bytes_forwarded_total", labels) == Int(sink.bytes))
        }
        #expect(page.count("downstream_refused_total", ["downstream": "dead"]) > 0)
        #expect(page.count("downstream_refused_total", ["downstream": "r1"]) == 0)
        // A third each, and no datagram of a live receiver is lost.
        #expect(outcome.delivery.arrived * 3 > outcome.delivery.sent * 2 - 100)
    }

    @Test("adds up when no receiver is ready")
    func noReceiver() async throws {
        var config = try ConfigText.simple(metrics: true)
        for index in config.listeners[0].receivers.indices {
            config.listeners[0].receivers[index].weight = 0
        }
        let outcome = try await DaemonUnderTest.underLoad(config, sinks: []) { _, load in
            try await load.pass(1000)
        }
        let page = try #require(outcome.page)
        let sent = Int(outcome.delivery.sent)
        #expect(page.count("packets_received_total") == sent)
        #expect(page.count("packets_no_healthy_total") == sent)
        #expect(page.count("packets_dropped_total", ["reason": "no_healthy"]) == sent)
        #expect(page.count("packets_dropped_total") == sent)
        #expect(page.value("udp_fanout_downstream_active") == 0)
    }

    @Test("passes promtool while the daemon runs, with any name that a file may contain")
    func promtool() async throws {
        let names = ["a \"quoted\" name", "back\\slash", "ünï {x=\"1\"} 5", "# HELP"]
        var config = try ConfigText.simple(metrics: true)
        let port = try #require(config.metricsPort)
        config.listeners = try names.map { name in
            var listener = config.listeners[0]
            listener.name = name
            listener.receivers[0].name = name
            listener.port = try Ports.free()
            return listener
        }
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let page = try await MetricsPage.scrape(port)
            for name in names {
                #expect(page.value("udp_fanout_workers", ["listener": name]) == 1)
                #expect(
                    page.value(
                        "udp_fanout_downstream_weight", ["listener": name, "downstream": name])
                        == 1)
            }
            let path = try daemon.folder.write(page.text, to: "page")
            let file = try FileHandle(forReadingFrom: URL(filePath: path))
            let promtool = try ChildProcess(
                "promtool", ["check", "metrics"], input: .inherited(file.fileDescriptor))
            let ending = try await promtool.exit()
            let said = promtool.record.state.output + promtool.record.state.errors
            #expect(ending == .exited(0) && said == [], "\(said)")
            try await daemon.stop()
        }
    }

    @Test("is served beside health and the status page, and nothing else")
    func paths() async throws {
        let config = try ConfigText.simple(metrics: true)
        let port = try #require(config.metricsPort)
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let health = try await HTTP.get("/healthz", port: port)
            #expect(health.status == 200)
            #expect(health.body.trimmingCharacters(in: .newlines) == "ok")
            #expect(try await HTTP.get("/nowhere", port: port).status == 404)
            let root = try await HTTP.get("/", port: port)
            #expect(root.status == 200)
            let place = "127.0.0.1:\(config.listeners[0].port)"
            for words in ["data-name=\"in\"", place, "round_robin", "2 of 2 ready"] {
                #expect(root.body.contains(words), "\(words)")
            }
            let page = try await MetricsPage.scrape(port)
            let resident = try #require(page.value("process_resident_memory_bytes"))
            let status = try #require(try SocketTable.status("VmRSS", of: daemon.pid))
            #expect(abs(resident / 1024 - Double(status)) < 8192)
            let open = try #require(page.value("process_open_fds"))
            #expect(abs(Int(open) - (try SocketTable.descriptors(of: daemon.pid).count)) <= 2)
            try await daemon.stop()
        }
    }

    @Test("the status page has rates and history also without a control socket")
    func history() async throws {
        let sink = try Sink()
        let config = try ConfigText.simple(receivers: [sink.endpoint.port], metrics: true)
        let port = try #require(config.metricsPort)
        let yaml = config.yaml + "control:\n  enabled: false\n"
        try await DaemonUnderTest.running(yaml) { daemon in
            let traffic = try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port))
            try await eventually("both are there") {
                for _ in 0..<100 { traffic.send([1]) }
                let page = try await HTTP.get("/", port: port).body
                let now = page.firstMatch(of: /<span class="now"><span class="rate">([^<]*)</)
                let before = page.matches(of: /data-rates="\[\[[-0-9]*,([0-9.]*),/)
                return now.map { $0.output.1 != "0" } == true
                    && before.count == 2 && before.contains { $0.output.1 != "0" }
            }
            try await daemon.stop()
        }
    }

    @Test("does not affect traffic when 500 slow clients are connected")
    func slowClients() async throws {
        let sinks = try tallyingSinks(2)
        let config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        let port = try #require(config.metricsPort)
        let outcome = try await DaemonUnderTest.underLoad(config, sinks: sinks) { daemon, load in
            let clients = try (0..<500).map { _ in try HTTP.connect(port) }
            defer { for client in clients { close(client) } }
            // Each sends its request a byte at a time.
            for byte in Array("GET /metrics".utf8) {
                for client in clients { _ = send(client, [byte], 1, Int32(MSG_NOSIGNAL)) }
            }
            try await eventually("all but 64 are refused") {
                let page = try? await MetricsPage.scrape(port)
                return (page?.count("metrics_connections_refused_total") ?? 0) >= 436
            }
            try await load.pass(5000)
            #expect(try SocketTable.descriptors(of: daemon.pid).count < 200)
        }
        outcome.expectNoLoss()
        let page = try #require(outcome.page)
        let taken = page.count("packets_received_total") + page.count("kernel_drops_total")
        #expect(taken == Int(outcome.delivery.sent))
    }
}
