// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing

extension DaemonTests {
    @Suite("Standard streams")
    struct StreamTests {}
}

extension DaemonTests.StreamTests {
    @Test("check fails when its output cannot be written")
    func checkToFullDevice() async throws {
        let folder = try ScratchFolder()
        try folder.write(try ConfigText.simple().yaml, to: "config.yaml")
        let device = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(device) }
        let process = try ChildProcess(
            Files.daemon, ["check", "--dump"], output: .inherited(device), folder: folder)
        #expect(try await process.exit() == .exited(1))
        #expect(process.record.state.errors == ["check: cannot write to standard output"])
    }

    @Test("it continues when no process reads its log any more")
    func logReaderGone() async throws {
        let sink = try Sink()
        let config = try ConfigText.simple(receivers: [sink.endpoint.port])
        try await DaemonUnderTest.running(config.yaml) { daemon in
            daemon.process.record.hangUp(2)
            // These log lines have no reader.
            for _ in 0..<3 { daemon.process.send(SIGHUP) }
            let sender = try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port))
            try await eventually("a datagram passes") {
                sender.send([1])
                return sink.count > 3
            }
            daemon.process.send(SIGTERM)
            #expect(try await daemon.process.exit() == .exited(0))
        }
    }

    @Test("it starts, serves and ends while its log pipe is full")
    func logStalled() async throws {
        let sink = try Sink()
        let config = try ConfigText.simple(receivers: [sink.endpoint.port], metrics: true)
        let folder = try ScratchFolder()
        let path = try folder.write(config.yaml, to: "config.yaml")
        let (reader, full) = try Files.fullPipe()
        defer {
            close(reader)
            close(full)
        }
        let process = try ChildProcess(
            Files.daemon, ["-c", path], errors: .inherited(full), folder: folder)
        try await eventually("it listens") {
            try await SocketTable.ports(of: process.pid).contains(config.listeners[0].port)
        }
        let sender = try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port))
        sender.send([1, 2, 3])
        try await eventually("the datagram passes") { sink.count > 0 }
        let page = try await MetricsPage.scrape(try #require(config.metricsPort))
        #expect(page.count("packets_received_total") == 1)
        process.send(SIGTERM)
        #expect(try await process.exit() == .exited(0))
    }

    @Test("started with closed standard streams, it writes its log to no other descriptor")
    func closedStreams() async throws {
        let sink = try Sink()
        let config = try ConfigText.simple(receivers: [sink.endpoint.port])
        let folder = try ScratchFolder()
        let path = try folder.write(config.yaml, to: "config.yaml")
        let process = try ChildProcess(
            Files.daemon, ["-l", "trace", "-c", path], input: .closed, output: .closed,
            errors: .closed)
        try await eventually("it listens") {
            try await SocketTable.ports(of: process.pid) == [config.listeners[0].port]
        }
        for number in 0...2 {
            let target = try SocketTable.target(of: Int32(number), in: process.pid)
            #expect(target == "/dev/null", "descriptor \(number)")
        }
        let sender = try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port))
        sender.send([1, 2, 3])
        try await eventually("the datagram passes") { sink.count > 0 }
        process.send(SIGTERM)
        #expect(try await process.exit() == .exited(0))
        #expect(sink.datagrams.map(\.payload) == [[1, 2, 3]])
    }
}
