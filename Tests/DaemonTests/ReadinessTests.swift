// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing

extension DaemonTests {
    @Suite("Readiness")
    struct ReadinessTests {}
}

extension DaemonTests.ReadinessTests {
    @Test("a daemon whose listeners serve is ready, and stays so when a reload fails")
    func ready() async throws {
        let config = try ConfigText.simple(metrics: true)
        let port = try #require(config.metricsPort)
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let before = try await HTTP.get("/readyz", port: port)
            #expect(before.status == 200 && before.body == "ready\n")
            try daemon.folder.replace(DaemonUnderTest.configName, with: "listeners: []\n")
            try await daemon.logs(DaemonUnderTest.notReloaded)
            #expect(try await HTTP.get("/readyz", port: port).status == 200)
        }
    }

    @Test("a daemon is not ready until its sources of receivers have answered, and names them")
    func notYet() async throws {
        let folder = try ScratchFolder()
        let receivers = folder.path("receivers")
        let port = try Ports.free()
        let config = """
            listeners:
              - name: in
                bind: "127.0.0.1:\(try Ports.free())"
                file: {path: "\(receivers)", port: 1}
            settings: {workers: 1}
            metrics: {enabled: true, bind: "127.0.0.1:\(port)"}

            """
        try await DaemonUnderTest.running(config, folder: folder) { _ in
            let before = try await HTTP.get("/readyz", port: port)
            #expect(before.status == 503)
            #expect(before.body == "no answer yet from file:\(receivers):1\n")
            #expect(try await HTTP.get("/healthz", port: port).status == 200)
            // An empty list is an answer as well.
            try folder.write("# no receiver\n", to: "receivers")
            try await eventually("it is ready") {
                try await HTTP.get("/readyz", port: port).status == 200
            }
        }
    }

    @Test("a daemon that is ending is not ready, and says so")
    func ending() async throws {
        // A stopped worker delays the end, while the metrics server stays open.
        var config = try ConfigText.simple(metrics: true)
        config.settings = ["workers: 1"]
        let port = try #require(config.metricsPort)
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let worker = try StoppedThread(named: "fanout-in", of: daemon.pid)
            try await worker.isStopped()
            daemon.process.send(SIGTERM)
            try await eventually("it is not ready") {
                try await HTTP.get("/readyz", port: port).body == "stopping\n"
            }
            try await worker.release()
            #expect(try await daemon.process.exit() == .exited(0))
        }
    }

    @Test(
        "while a worker hangs with datagrams waiting it is neither ready nor alive, also without a service manager",
        .enabled(if: Privilege.isRoot))
    func hanging() async throws {
        let sinks = try tallyingSinks(2)
        var config = try ConfigText.simple(receivers: sinks.ports, metrics: true)
        config.settings = ["workers: 1"]
        let port = try #require(config.metricsPort)
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let worker = try StoppedThread(named: "fanout-in", of: daemon.pid)
            try await worker.isStopped()
            #expect(try await HTTP.get("/healthz", port: port).status == 200)
            try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port)).send([1])
            try await eventually(within: .seconds(60), "it is not alive") {
                try await HTTP.get("/healthz", port: port).status == 503
            }
            let ready = try await HTTP.get("/readyz", port: port)
            #expect(ready.status == 503)
            #expect(ready.body.contains("worker in/0 has made no progress for"))
            #expect(daemon.times("workers hang") == 1)
            try await worker.release()
            for path in ["/healthz", "/readyz"] {
                try await eventually("\(path) is well again") {
                    try await HTTP.get(path, port: port).status == 200
                }
            }
        }
    }
}
