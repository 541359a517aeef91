// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import Testing
import Tiers

extension DaemonTests {
    @Suite("Health checks")
    struct HealthTests {
        private static let healthy = "downstream is healthy"
        private static let disabled = "downstream marked unhealthy, disabling"
        private static let health =
            "health: {enabled: true, protocol: tcp, interval_secs: 1, timeout_secs: 1}\n"

        private func config(_ sinks: [Sink]) throws -> ConfigText {
            try ConfigText.simple(receivers: sinks.ports, metrics: true)
        }

        private func active(_ config: ConfigText, _ count: Int) async throws {
            let port = try #require(config.metricsPort)
            try await eventually("\(count) are active") {
                try await MetricsPage.scrape(port).count("downstream_active") == count
            }
        }

        private func load(_ config: ConfigText) throws -> Load {
            let target = Endpoint(.loopback, port: config.listeners[0].port)
            return try Load([Traffic(to: target)], rate: 5000)
        }

        private func totals(_ daemon: DaemonUnderTest) -> [String: Int] {
            let line = daemon.log.last { $0.message == "listener totals" }
            return (line?.fields ?? [:]).compactMapValues { Int($0) }
        }

        @Test(
            "all receivers down and back: everything is counted, and they are used again within an interval",
            .tags(.load))
        func allDown() async throws {
            let sinks = try tallyingSinks(3)
            let ports = try HealthPorts(sinks)
            let config = try config(sinks)
            try await DaemonUnderTest.running(config.yaml + Self.health) { daemon in
                try await daemon.logs(Self.healthy, times: 3)
                let load = try load(config)
                try await load.pass(1000)
                ports.closeAll()
                let line = try await daemon.logs(Self.disabled, times: 3)
                #expect(line.level == "warn" && line.fields["result"] == "refused")
                #expect(line.fields["listener"] == "in" && line.fields["downstream"] != nil)
                try await active(config, 0)
                try await load.pass(1000)
                try ports.openAll()
                let opened = ContinuousClock.now
                try await daemon.logs(Self.healthy, times: 6)
                try await active(config, 3)
                #expect(ContinuousClock.now - opened < .seconds(3))
                try await load.pass(1000)
                let report = await load.stop()
                let page = try await MetricsPage.scrape(#require(config.metricsPort))
                for index in 1...3 {
                    let labels = ["listener": "in", "downstream": "r\(index)"]
                    #expect(page.count("downstream_health", labels) == 1)
                }
                #expect(page.count("health_probes_total", ["result": "refused"]) >= 9)
                try await daemon.stop()
                let totals = totals(daemon)
                let dropped = totals["dropped_no_healthy"] ?? 0
                #expect(dropped >= 1000)
                #expect(totals["dropped"] == dropped)
                #expect(totals["received"] == totals["forwarded"]! + dropped)
                #expect(totals["received"]! + totals["kernel_drops"]! == Int(report.datagrams))
                try await eventually("what was forwarded arrives") {
                    Int(sinks.arrivals) == totals["forwarded"]
                }
            }
        }

        @Test("a dead receiver does not affect the others, and its counters survive")
        func oneDies() async throws {
            var sinks = try tallyingSinks(3)
            let ports = try HealthPorts(sinks)
            let config = try config(sinks)
            let metrics = try #require(config.metricsPort)
            func forwarded(_ index: Int) async throws -> Int {
                try await MetricsPage.scrape(metrics).count(
                    "downstream_packets_forwarded_total", ["downstream": "r\(index)"])
            }
            try await DaemonUnderTest.running(config.yaml + Self.health) { daemon in
                try await daemon.logs(Self.healthy, times: 3)
                let load = try load(config)
                try await load.pass(1000)
                let dead = sinks[2].endpoint.port
                ports.close(2)
                sinks[2].stop()
                sinks.removeLast()
                try await daemon.logs(Self.disabled)
                try await active(config, 2)
                let before = try await forwarded(3)
                #expect(before > 0)
                try await load.pass(2000)
                #expect(try await forwarded(3) == before, "the disabled receiver gets nothing")
                sinks.append(try Sink(port: dead, keepsPayloads: false))
                try ports.open(2)
                try await active(config, 3)
                try await load.pass(2000)
                _ = await load.stop()
                try await eventually("all that was forwarded has arrived") {
                    try await forwarded(3) - before == Int(sinks[2].arrivals)
                }
                #expect(sinks[2].arrivals > 0)
                #expect(try await forwarded(1) == Int(sinks[0].arrivals))
                #expect(try await forwarded(2) == Int(sinks[1].arrivals))
                try await daemon.stop()
                let totals = totals(daemon)
                #expect(totals["received"] == totals["forwarded"]! + totals["dropped"]!)
            }
        }

        @Test("a reload turns health checks on and off without a new socket")
        func reload() async throws {
            let sinks = try tallyingSinks(2)
            let ports = try HealthPorts(sinks)
            let config = try config(sinks)
            try await DaemonUnderTest.running(config.yaml) { daemon in
                let page = try await MetricsPage.scrape(#require(config.metricsPort))
                #expect(page.value("udp_fanout_downstream_health") == nil)
                ports.close(0)
                try await daemon.reload(config.yaml + Self.health)
                try await daemon.logs(Self.disabled)
                try await active(config, 1)
                try await daemon.reload(config.yaml)
                try await active(config, 2)
                let lines = daemon.log.filter { $0.message == DaemonUnderTest.reloaded }
                #expect(lines.map { $0.fields["health"] } == ["tcp", "off"])
                #expect(daemon.times("starting userspace forwarder") == 1)
                try await daemon.stop()
            }
        }

        @Test("all receivers are used below min_healthy_percent")
        func failOpen() async throws {
            let sinks = try tallyingSinks(2)
            let ports = try HealthPorts(sinks)
            let config = try config(sinks)
            let health = Self.health.replacing("}", with: ", min_healthy_percent: 60}")
            try await DaemonUnderTest.running(config.yaml + health) { daemon in
                ports.close(0)
                try await daemon.logs("too few downstreams are healthy, all are used")
                let page = try await MetricsPage.scrape(#require(config.metricsPort))
                #expect(page.count("downstream_active") == 2)
                #expect(page.count("downstream_health", ["downstream": "r1"]) == 0)
                try await daemon.stop()
            }
        }
    }
}
