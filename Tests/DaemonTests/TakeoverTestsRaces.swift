// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing

extension DaemonTests {
    /// Old daemons that end, or are stopped, just when another process takes over.
    @Suite("A takeover that races with an end")
    struct TakeoverTestsRaces {}
}

extension DaemonTests.TakeoverTestsRaces {
    private func expectServed(_ config: ConfigText, _ sinks: [Sink]) async throws {
        let seen = sinks.arrivals
        try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port)).send([1])
        try await eventually("the port is served") { sinks.arrivals > seen }
    }

    /// Connections to a daemon's control socket, including those not yet accepted.
    private func clients(of daemon: DaemonUnderTest) throws -> Int {
        // The listener has a line of its own (proc_net(5)), under the name of the socket before it was renamed.
        let table = try String(contentsOfFile: "/proc/net/unix", encoding: .utf8)
        let name = "\(daemon.controlPath).\(daemon.pid)"
        return table.split(separator: "\n").count { $0.hasSuffix(name) } - 1
    }

    private func hasClients(_ count: Int, _ daemon: DaemonUnderTest) async throws {
        try await eventually("the other process has connected") {
            try clients(of: daemon) >= count
        }
    }

    private func takeOver(_ daemon: DaemonUnderTest) throws -> DaemonUnderTest {
        try DaemonUnderTest(
            nil, ["--takeover", "--config", daemon.folder.path(DaemonUnderTest.configName)],
            folder: daemon.folder)
    }

    @Test("continues as a start when the old daemon is killed before it answers")
    func killedBeforeAnswer() async throws {
        let sinks = try tallyingSinks(2)
        let config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        let old = try DaemonUnderTest(config.yaml)
        try await old.isRunning()
        old.process.send(SIGSTOP)
        let next = try takeOver(old)
        try await hasClients(1, old)
        old.process.send(SIGKILL)
        try await next.isRunning()
        try await expectServed(config, sinks)
        try await next.stop()
    }

    @Test("waits for an old daemon that is ending, and then serves")
    func endingAlready() async throws {
        let sinks = try tallyingSinks(2)
        var config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        config.settings = ["workers: 1"]
        let old = try DaemonUnderTest(config.yaml)
        try await old.isRunning()
        // The ending daemon waits for the worker; it holds the port and has closed the control socket.
        let worker = try StoppedThread(named: "fanout-in", of: old.pid)
        try await worker.isStopped()
        old.process.send(SIGTERM)
        try await eventually("the control socket is closed") {
            access(old.controlPath, F_OK) != 0
        }
        let next = try takeOver(old)
        try await next.logs("waiting for the old daemon to end")
        try await worker.release()
        #expect(try await old.process.exit() == .exited(0))
        try await next.isRunning()
        try await expectServed(config, sinks)
        try await next.stop()
    }

    @Test("can begin at once after one whose process was killed")
    func secondAtOnce() async throws {
        let sinks = try tallyingSinks(2)
        let config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        let old = try DaemonUnderTest(config.yaml)
        try await old.isRunning()
        let silent = try HeldPort(try Ports.free(), SOCK_DGRAM)
        let looking =
            "  - {name: looking, bind: \"127.0.0.1:\(try Ports.free())\", dns: {name: r.example, port: 9,"
            + " server: \"127.0.0.1:\(silent.port)\"}}\n"
        let slow = try old.folder.write(
            config.yaml.replacing("listeners:\n", with: "listeners:\n" + looking), to: "slow.yaml")
        var current = old
        for _ in 0..<4 {
            let killed = try DaemonUnderTest(
                nil, ["--takeover", "--config", slow], folder: old.folder)
            try await killed.logs("taking over")
            // A stopped daemon sees the end of the first process and the request of the second together.
            current.process.send(SIGSTOP)
            killed.process.send(SIGKILL)
            #expect(try await killed.process.exit() == .killed(SIGKILL))
            let next = try takeOver(current)
            try await hasClients(2, current)
            current.process.send(SIGCONT)
            try await next.isRunning()
            #expect(try await current.process.exit() == .exited(0))
            try await expectServed(config, sinks)
            current = next
        }
        try await current.stop()
        withExtendedLifetime(silent) {}
    }

    @Test("from a stopped daemon is aborted within seconds, or at once on a signal")
    func stopped() async throws {
        let sinks = try tallyingSinks(2)
        let config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        try await DaemonUnderTest.running(config.yaml) { old in
            old.process.send(SIGSTOP)
            let impatient = try takeOver(old)
            try await hasClients(1, old)
            impatient.process.send(SIGTERM)
            #expect(try await impatient.process.exit() == .exited(1))
            #expect(impatient.log.last?.message == "udp-fanout stopped")

            let patient = try takeOver(old)
            async let status = DaemonUnderTest.run(["status"], folder: old.folder)
            #expect(try await patient.process.exit(within: .seconds(40)) == .exited(1))
            let last = try #require(patient.log.last)
            #expect(last.message == "takeover aborted; the old process continues")
            #expect(last.fields["error"]?.contains("does not answer") == true)
            let told = try await status
            #expect(told.code == 1)
            #expect(told.errors.joined().contains("does not answer"))

            old.process.send(SIGCONT)
            try await expectServed(config, sinks)
            let next = try takeOver(old)
            try await next.isRunning()
            #expect(try await old.process.exit() == .exited(0))
            try await expectServed(config, sinks)
            try await next.stop()
        }
    }

    @Test("or a start continues when the process gets SIGHUP in its first milliseconds")
    func earlyHangUp() async throws {
        let sinks = try tallyingSinks(2)
        let config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        var current: DaemonUnderTest?
        for _ in 0..<5 {
            let old = current
            let next = try old.map(takeOver) ?? DaemonUnderTest(config.yaml)
            // It ignores SIGPIPE and SIGHUP first of all.
            try await eventually("it has begun") {
                let ignored = try SocketTable.mask("SigIgn", of: next.pid)
                return ignored & (1 << UInt64(SIGPIPE - 1)) != 0
            }
            for _ in 0..<100 {
                next.process.send(SIGHUP)
                try await Task.sleep(for: .microseconds(300))
            }
            try await next.isRunning()
            if let old { #expect(try await old.process.exit() == .exited(0)) }
            try await expectServed(config, sinks)
            current = next
        }
        try await current?.stop()
    }
}
