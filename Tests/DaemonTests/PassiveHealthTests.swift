// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing

extension DaemonTests {
    @Suite("Receivers that refuse")
    struct PassiveHealthTests {
        private static let disabled = "downstream marked unhealthy, disabling"
        private static let healthy = "downstream is healthy"
        private static let refuses =
            "downstream refuses datagrams: nothing listens there, or a firewall rejects them"
        private static let passive = "health: {passive: true, interval_secs: 1, timeout_secs: 1}\n"

        private func config(_ sinks: [Sink], dead: [UInt16]) throws -> ConfigText {
            var config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
            for (index, port) in dead.enumerated() {
                config.listeners[0].receivers.append(
                    ConfigText.Receiver(name: "dead\(index)", port: port))
            }
            return config
        }

        private func load(_ config: ConfigText) throws -> Load {
            try Load(
                [Traffic(to: Endpoint(.loopback, port: config.listeners[0].port))], rate: 500)
        }

        @Test("are shown in status, top, explain, log and metrics, and stay used without the key")
        func shown() async throws {
            let sinks = try tallyingSinks(1)
            var config = try config(sinks, dead: [try Ports.free()])
            config.listeners[0].balance = "source_ip"
            config.listeners[0].receivers[0].weight = 0
            try await DaemonUnderTest.running(config.yaml) { daemon in
                let load = try load(config)
                let line = try await daemon.logs(Self.refuses)
                #expect(line.level == "warn" && line.fields["downstream"] == "dead0")
                try await eventually("the status shows it") {
                    try daemon.receiver("dead0")?.word == "refuses"
                }
                let receiver = try #require(try daemon.receiver("dead0"))
                #expect(receiver.state == .ready && receiver.refusals > 0)
                #expect(receiver.healthy == nil)
                #expect(try await daemon.command(["status"]).output.contains("refuses"))
                let top = try await daemon.command(["top", "--count", "1"])
                #expect(top.output.contains("dead0(refuses)="))
                let words = [
                    "explain", "127.0.0.1:4000", "127.0.0.1:\(config.listeners[0].port)",
                ]
                let explained = try await daemon.command(words)
                #expect(explained.output.contains("dead0 refuses datagrams at present (ICMP)"))
                let page = try await MetricsPage.scrape(#require(config.metricsPort))
                #expect(page.count("downstream_refused_total", ["downstream": "dead0"]) > 0)
                _ = await load.stop()
                #expect(daemon.times(Self.disabled) == 0)
                #expect(daemon.times(Self.refuses) == 1)
                try await daemon.stop()
            }
        }

        @Test("are disabled, probed with one datagram an interval, and used again")
        func outAndBack() async throws {
            let sinks = try tallyingSinks(2)
            let dead = try Ports.free()
            let config = try config(sinks, dead: [dead])
            try await DaemonUnderTest.running(config.yaml + Self.passive) { daemon in
                let load = try load(config)
                let line = try await daemon.logs(Self.disabled)
                #expect(line.fields["downstream"] == "dead0" && line.fields["probe"] == "passive")
                #expect(line.fields["result"] == "refused")
                try await eventually("it is disabled") {
                    try daemon.receiver("dead0")?.state == .unhealthy
                }
                #expect(try daemon.status().health == "passive")
                let before = try #require(try daemon.receiver("dead0")).packetsForwarded
                try await load.pass(2000)
                let after = try #require(try daemon.receiver("dead0")).packetsForwarded
                // A third would be 666. One an interval is 4, more on a busy machine.
                #expect(after > before && after - before < 60, "\(before) \(after)")
                #expect(try daemon.receiver("dead0")?.state == .unhealthy)

                let revived = try Sink(port: dead, keepsPayloads: false)
                try await eventually("it is back") {
                    try daemon.receiver("dead0")?.state == .ready
                }
                #expect(
                    daemon.log.contains {
                        $0.message == Self.healthy && $0.fields["downstream"] == "dead0"
                    })
                let share = revived.count
                try await load.pass(600)
                try await eventually("it has its share") { revived.count >= share + 150 }
                _ = await load.stop()
                try await daemon.stop()
            }
        }

        @Test("are all used while every one refuses, also with successful TCP probes")
        func allRefuse() async throws {
            var sinks: [Sink] = []
            let config = try config(sinks, dead: [try Ports.free(), try Ports.free()])
            // Both accept TCP connections, so probes succeed.
            let listening = try config.listeners[0].receivers.map {
                try HeldPort($0.port, SOCK_STREAM, listens: true)
            }
            let health =
                "health: {enabled: true, protocol: tcp, passive: true, interval_secs: 1, "
                + "timeout_secs: 1}\n"
            try await DaemonUnderTest.running(config.yaml + health) { daemon in
                let load = try load(config)
                try await daemon.logs("too few downstreams are healthy, all are used")
                #expect(try daemon.status().health == "tcp, passive")
                try await load.pass(500)
                let page = try await MetricsPage.scrape(#require(config.metricsPort))
                #expect(page.count("packets_no_healthy_total") == 0)
                for name in ["dead0", "dead1"] {
                    #expect(try #require(try daemon.receiver(name)).packetsForwarded > 100)
                }
                sinks.append(
                    try Sink(port: config.listeners[0].receivers[0].port, keepsPayloads: false))
                try await eventually("the revived receiver has all") {
                    try daemon.receiver("dead0")?.state == .ready
                        && daemon.receiver("dead1")?.state == .unhealthy
                }
                _ = await load.stop()
                try await daemon.stop()
            }
            withExtendedLifetime((listening, sinks)) {}
        }
    }
}
