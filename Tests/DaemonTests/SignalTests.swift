// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing
import Tiers

extension DaemonTests {
    @Suite("Signals")
    struct SignalTests {}
}

extension DaemonTests.SignalTests {
    @Test(
        "it ends after it has forwarded everything received, and logs the totals",
        arguments: [SIGTERM, SIGINT])
    func flushes(signal: Int32) async throws {
        let sinks = [try Sink(), try Sink()]
        let config = try ConfigText.simple(receivers: sinks.ports)
        try await DaemonUnderTest.running(config.yaml) { daemon in
            // When the stopped daemon continues, it finds the datagrams and the signal together.
            daemon.process.send(SIGSTOP)
            let sender = try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port))
            for number in 0..<500 as Range<UInt64> {
                #expect(sender.send(Stamp(flow: 0, sequence: number).payload(size: 100)))
            }
            daemon.process.send(signal)
            daemon.process.send(SIGCONT)
            #expect(try await daemon.process.exit() == .exited(0))

            try await eventually("the sinks have read everything") { sinks.arrivals >= 500 }
            #expect(sinks.map(\.count) == [250, 250])
            let totals = try #require(daemon.log.last { $0.message == "listener totals" })
            #expect(totals.level == "info")
            let wanted = [
                "listener": "in", "received": "500", "forwarded": "500", "dropped": "0",
                "kernel_drops": "0",
            ]
            #expect(totals.fields == wanted)
            #expect(daemon.log.last?.message == "udp-fanout stopped")
        }
    }

    @Test("a second signal ends a slow stop at once, with that signal's exit code", .tags(.load))
    func secondSignal() async throws {
        // The page is longer than the sockets' buffers, and the client does not read it: the stop waits for the
        // client, two seconds at most.
        var config = try ConfigText.simple(metrics: true)
        let receivers = (0..<64).map {
            ConfigText.Receiver(name: "receiver-with-a-long-name-\($0)", port: UInt16(1000 + $0))
        }
        config.listeners = try (0..<40).map {
            ConfigText.Listener(
                name: "listener-\($0)", port: try Ports.free(), receivers: receivers)
        }
        config.settings = ["workers: 1"]
        let port = try #require(config.metricsPort)
        let page = try await DaemonUnderTest.running(config.yaml) { daemon in
            let text = try await MetricsPage.scrape(port).text
            let client = try HTTP.connect(port, receiveBufferBytes: 4096)
            defer { close(client) }
            let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
            #expect(send(client, request, request.utf8.count, 0) == request.utf8.count)
            var first: UInt8 = 0
            #expect(recv(client, &first, 1, Int32(MSG_PEEK)) == 1)

            daemon.process.send(SIGTERM)
            try await daemon.logs("received SIGTERM")
            let begin = ContinuousClock.now
            daemon.process.send(SIGINT)
            #expect(try await daemon.process.exit() == .exited(128 + SIGINT))
            #expect(ContinuousClock.now - begin < .milliseconds(1800))
            #expect(daemon.times("udp-fanout stopped") == 0)
            return text
        }
        #expect(page.utf8.count > 1 << 20)
    }

    @Test("two simultaneous signals end it, in order or at once", .tags(.load))
    func twoSignals() async throws {
        for pair in [(SIGTERM, SIGINT), (SIGINT, SIGTERM), (SIGTERM, SIGTERM)] {
            try await DaemonUnderTest.running(try ConfigText.simple(metrics: true).yaml) { daemon in
                let begin = ContinuousClock.now
                daemon.process.send(pair.0)
                daemon.process.send(pair.1)
                let ending = try await daemon.process.exit()
                let codes = [0, 128 + pair.0, 128 + pair.1].map(Ending.exited)
                #expect(codes.contains(ending), "\(ending)")
                #expect(ContinuousClock.now - begin < .milliseconds(1800))
            }
        }
    }

    @Test("a signal at any moment of the start is handled")
    func signalDuringStart() async throws {
        let config = try ConfigText.simple(metrics: true)
        for message in ["configuration loaded", "metrics server started"] {
            let daemon = try DaemonUnderTest(config.yaml)
            try await daemon.logs(message)
            daemon.process.send(SIGTERM)
            #expect(try await daemon.process.exit() == .exited(0))
            #expect(daemon.log.last?.message == "udp-fanout stopped")
        }
    }

    @Test("SIGHUP while it ends restarts nothing")
    func hangUpWhileEnding() async throws {
        let config = try ConfigText.simple(metrics: true)
        for _ in 0..<10 {
            try await DaemonUnderTest.running(config.yaml) { daemon in
                daemon.process.send(SIGSTOP)
                daemon.process.send(SIGTERM)
                daemon.process.send(SIGHUP)
                daemon.process.send(SIGCONT)
                let ending = try await daemon.process.exit()
                #expect(ending == .exited(0))
                #expect(daemon.log.last?.message == "udp-fanout stopped")
                #expect(daemon.times("starting userspace forwarder") == 1)
            }
        }
    }
}
