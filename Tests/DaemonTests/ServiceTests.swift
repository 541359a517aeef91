// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing

extension DaemonTests {
    @Suite("As a service of systemd")
    struct ServiceTests {}
}

extension DaemonTests.ServiceTests {
    @Test("it notifies when it is ready, when it reloads and is ready again, and when it stops")
    func notifications() async throws {
        let folder = try ScratchFolder()
        let manager = try NotifySocket(folder)
        let config = try ConfigText.simple()
        try await DaemonUnderTest.running(
            config.yaml, environment: ["NOTIFY_SOCKET": manager.path], folder: folder
        ) { daemon in
            try await eventually("ready") { manager.count("READY=1") == 1 }
            #expect(manager.lines.contains("STATUS=1 listeners, 2 receivers"))
            #expect(!manager.lines.contains("WATCHDOG=1"), "no watchdog was set")
            daemon.process.send(SIGHUP)
            try await eventually("ready again") { manager.count("READY=1") == 2 }
            let lines = manager.lines
            let reloading = try #require(lines.firstIndex(of: "RELOADING=1"))
            #expect(lines[reloading + 1].wholeMatch(of: /MONOTONIC_USEC=\d+/) != nil)
            #expect(reloading < lines.lastIndex(of: "READY=1")!)
            try await daemon.stop()
            #expect(manager.count("STOPPING=1") == 1)
        }
    }

    @Test("the watchdog is notified, except while a worker hangs", .enabled(if: Privilege.isRoot))
    func watchdog() async throws {
        let folder = try ScratchFolder()
        let manager = try NotifySocket(folder)
        let sinks = try tallyingSinks(2)
        let config = try ConfigText.simple(receivers: sinks.ports)
        try await DaemonUnderTest.running(
            config.yaml,
            environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "400000"], folder: folder
        ) { daemon in
            try await eventually("an idle daemon notifies it") { manager.count("WATCHDOG=1") > 5 }
            let traffic = try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port))
            let thread = try StoppedThread(named: "fanout-in", of: daemon.pid)
            try await thread.isStopped()
            traffic.send([1])
            try await daemon.logs("workers hang; watchdog notifications stop")
            let fed = manager.count("WATCHDOG=1")
            // Longer than the time after which the manager would have killed it.
            let silence = ContinuousClock.now + .milliseconds(800)
            try await eventually("two periods pass") { ContinuousClock.now > silence }
            #expect(manager.count("WATCHDOG=1") == fed)
            try await thread.release()
            try await eventually("it continues once the worker does") {
                manager.count("WATCHDOG=1") > fed
            }
            try await eventually("and the datagram is forwarded") {
                sinks.map(\.arrivals).reduce(0, +) == 1
            }
        }
    }
}
