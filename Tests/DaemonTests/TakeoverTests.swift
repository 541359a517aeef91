// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing
import Tiers

extension DaemonTests {
    /// A daemon takes over from another one under load, and no datagram is lost.
    @Suite("A takeover", .tags(.load))
    struct TakeoverTests {}
}

extension DaemonTests.TakeoverTests {
    private static let goesOn = "takeover by another process failed; this process continues"

    private func takeoverChain(_ config: ConfigText) async throws -> TakeoverChain {
        let target = Endpoint(.loopback, port: config.listeners[0].port)
        return try await TakeoverChain(config.yaml) {
            try Load((0..<16).map { _ in try Traffic(to: target) }, rate: TakeoverChain.rate)
        }
    }

    @Test(
        "loses nothing, keeps the order, and the counters of both add up, with one worker or three",
        arguments: [1, 3])
    func takesOver(workers: Int) async throws {
        let sinks = try tallyingSinks(2)
        var config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        config.settings[0] = "workers: \(workers)"
        config.listeners[0].balance = "source_ip"
        let chain = try await takeoverChain(config)
        for _ in 0..<3 { try await chain.takeOver(config.yaml) }
        let page = try await MetricsPage.scrape(config.metricsPort!)
        #expect(page.count("packets_received_total") > 0)
        let status = try await DaemonUnderTest.run(
            ["status", "--json"], folder: chain.folder)
        #expect(status.output.contains("\"pid\":\(chain.current.pid)"))
        try await chain.settle(sinks)
    }

    @Test("loses nothing when workers, receivers or the address change")
    func altered() async throws {
        let sinks = try tallyingSinks(3)
        let config = try ConfigText.simple(receivers: sinks.ports)
        let chain = try await takeoverChain(config)
        for round in 1...6 {
            var next = config
            next.settings[0] = "workers: \(1 + round % 3)"
            next.listeners[0].balance = ["round_robin", "source_ip"][round % 2]
            next.listeners[0].address = ["127.0.0.1", "0.0.0.0"][round / 2 % 2]
            next.listeners[0].name = round == 4 ? "renamed" : "in"
            if round % 3 == 0 { next.listeners[0].receivers.removeLast() }
            try await chain.takeOver(next.yaml)
        }
        let report = await chain.load.stop()
        try await eventually("all arrive") { sinks.arrivals >= report.datagrams }
        try await chain.current.stop()
        let delivery = Delivery(of: report, at: sinks)
        #expect(delivery.lost == 0 && delivery.duplicates == 0, "\(delivery)")
        let received =
            chain.total("received") + chain.total("received", listener: "renamed")
        #expect(received == Int(report.datagrams))
    }

    @Test("forwards the queued datagrams of an address that the new configuration drops")
    func addressGone() async throws {
        let sinks = try tallyingSinks(1)
        var config = try ConfigText.simple(receivers: sinks.ports)
        var other = config.listeners[0]
        other.name = "other"
        other.port = try Ports.free()
        let chain = try await takeoverChain(config)
        config.listeners.append(other)
        try await chain.takeOver(config.yaml)
        let late = try Load(
            [Traffic(to: Endpoint(.loopback, port: other.port))], rate: 10_000, total: 20_000)
        try await late.pass(1000)
        config.listeners.removeLast()
        try await chain.takeOver(config.yaml)
        _ = await late.finish()
        let ports = try await SocketTable.ports(of: chain.current.pid)
        #expect(ports == [config.listeners[0].port])
        let first = await chain.load.stop()
        let arrived = UInt64(chain.total("received", listener: "other")) + first.datagrams
        try await eventually("all arrive") { sinks.arrivals == arrived }
        try await chain.current.stop()
        #expect(chain.total("received") == Int(first.datagrams))
        #expect(
            chain.total("received", listener: "other")
                == chain.total("forwarded", listener: "other"))
    }

    @Test("that fails at its configuration, sockets or metrics leaves the old daemon as it was")
    func refused() async throws {
        let sinks = try tallyingSinks(2)
        var config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        config.settings[0] = "workers: 2"
        let chain = try await takeoverChain(config)
        var bad = config
        bad.listeners[0].receivers[0].weight = -1
        let first = try await chain.refuse(bad.yaml)
        #expect(chain.current.times(Self.goesOn) == 0)
        #expect(first.process.record.state.errors.contains { $0.contains("weight") })

        let udp = try HeldPort(try Ports.free(), SOCK_DGRAM)
        bad = config
        bad.listeners.append(config.listeners[0])
        bad.listeners[1].name = "held"
        bad.listeners[1].port = udp.port
        _ = try await chain.refuse(bad.yaml)
        try await chain.current.logs(Self.goesOn)

        // At this step the old daemon reads no more, and has handed everything over.
        let tcp = try HeldPort(try Ports.free(), SOCK_STREAM, listens: true)
        bad = config
        bad.metricsPort = tcp.port
        _ = try await chain.refuse(bad.yaml)
        try await chain.current.logs(Self.goesOn, times: 2)
        let page = try await MetricsPage.scrape(config.metricsPort!)
        #expect(page.count("packets_received_total") > 0)
        let status = try await DaemonUnderTest.run(["status"], folder: chain.folder)
        #expect(status.code == 0)
        try await chain.takeOver(config.yaml)
        try await chain.settle(sinks)
    }

    @Test(
        "by a process that is killed halfway leaves the old daemon as it was, and nothing is lost",
        arguments: ["release"])
    func killed(step: String) async throws {
        let sinks = try tallyingSinks(2)
        var config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        config.settings[0] = "workers: 2"
        let target = Endpoint(.loopback, port: config.listeners[0].port)
        let chain = try await TakeoverChain(
            config.yaml, environment: ["UDP_FANOUT_LOG": "debug"]
        ) {
            try Load((0..<16).map { _ in try Traffic(to: target) }, rate: TakeoverChain.rate)
        }
        var kills = 0
        for _ in 0..<8 where kills < 3 {
            if try await chain.kill(config.yaml, after: step) { kills += 1 }
        }
        #expect(kills == 3)
        let page = try await MetricsPage.scrape(config.metricsPort!)
        #expect(page.count("packets_received_total") > 0)
        try await chain.takeOver(config.yaml)
        try await chain.settle(sinks)
    }

    @Test("by a process that is killed at the beginning leaves the old daemon as it was")
    func killedAtBeginning() async throws {
        let sinks = try tallyingSinks(2)
        let config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        let chain = try await takeoverChain(config)
        for _ in 0..<2 { try await chain.killAtBeginning(config.yaml) }
        let page = try await MetricsPage.scrape(config.metricsPort!)
        #expect(page.count("packets_received_total") > 0)
        try await chain.takeOver(config.yaml)
        try await chain.settle(sinks)
    }

    @Test("keeps drained and unhealthy receivers as they are")
    func inheritedState() async throws {
        let sinks = try tallyingSinks(3)
        var config = try ConfigText.simple(receivers: sinks.ports)
        config.settings.append("max_downstream: 8")
        let chain = try await takeoverChain(config)
        let drained = try await DaemonUnderTest.run(["drain", "in/r2"], folder: chain.folder)
        #expect(drained.code == 0)
        try await chain.takeOver(config.yaml)
        let before = sinks[1].arrivals
        try await chain.load.pass(5000)
        #expect(sinks[1].arrivals == before)
        try await chain.settle(sinks)
    }

    @Test("is an ordinary start where no daemon runs")
    func alone() async throws {
        let config = try ConfigText.simple()
        try await DaemonUnderTest.running(config.yaml, ["--takeover"]) { daemon in
            #expect(daemon.times("no daemon to take over from") == 1)
            try await daemon.stop()
        }
    }
}
