// SPDX-License-Identifier: Apache-2.0

import Glibc
import Foundation
import LabNet
import Testing

extension DaemonTests {
    @Suite("Log messages that alerts grep for")
    struct LogMessageTests {}
}

extension DaemonTests.LogMessageTests {
    /// A message, its level, and its required fields.
    struct Message: CustomTestStringConvertible {
        let text: String
        let level: String
        let fields: [String: String]
        var testDescription: String { text }

        init(_ text: String, _ level: String, _ fields: [String: String] = [:]) {
            (self.text, self.level, self.fields) = (text, level, fields)
        }
    }

    /// In the order in which they are logged.
    static let messages = [
        Message("starting udp-fanout", "info", ["config": "config.yaml"]),
        Message("configuration loaded", "info", ["path": "config.yaml", "listeners": "1"]),
        Message(
            "configured listeners by mode", "info",
            ["userspace": "1", "tc_ebpf": "0", "af_xdp": "0", "xdp_nat": "0"]),
        Message("metrics server started", "info", ["path": "/metrics"]),
        Message("starting userspace forwarder", "info", ["listener": "in", "workers": "1"]),
        Message("udp-fanout is running. Press Ctrl+C to stop.", "info"),
        Message("entering receive loop", "debug", ["listener": "in", "worker": "0"]),
        Message("userspace worker heartbeat", "debug", ["listener": "in", "downstreams": "2"]),
        Message("userspace worker heartbeat", "debug", ["received": "0", "forwarded": "0"]),
        Message("received SIGTERM", "info"),
        Message("listener totals", "info", ["listener": "in", "received": "0"]),
        Message("udp-fanout stopped", "info"),
    ]

    @Test("appear with exact text and level during one run")
    func messages() async throws {
        let folder = try ScratchFolder()
        try folder.write(try ConfigText.simple(metrics: true).yaml, to: "config.yaml")
        let daemon = try DaemonUnderTest(nil, ["-l", "debug"], folder: folder)
        try await daemon.logs("entering receive loop")
        let begin = ContinuousClock.now
        try await daemon.logs("userspace worker heartbeat")
        try await daemon.logs("userspace worker heartbeat", times: 2)
        // The first is logged five seconds after the start, the second five seconds later.
        #expect((.seconds(9)...(.seconds(12))).contains(ContinuousClock.now - begin))
        try await daemon.stop()

        for (text, wanted) in Dictionary(grouping: Self.messages, by: \.text) {
            let found = daemon.log.filter { $0.message == text }
            #expect(found.count >= wanted.count, "\(text)")
            for message in wanted {
                #expect(found.allSatisfy { $0.level == message.level }, "\(text)")
                for line in found {
                    #expect(line.fields.merging(message.fields) { $1 } == line.fields, "\(text)")
                }
            }
        }
        let all = daemon.process.record.state.errors
        #expect(all.allSatisfy { LogLine($0) != nil }, "\(all)")
        #expect(all.first?.contains("starting udp-fanout") == true)
        #expect(all.last?.contains("udp-fanout stopped") == true)
    }

    @Test("are JSON objects with --log-format json, one a line")
    func json() async throws {
        let folder = try ScratchFolder()
        var config = try ConfigText.simple()
        config.listeners[0].name = "a \"quoted\" name"
        try folder.write(config.yaml, to: "config.yaml")
        let daemon = try DaemonUnderTest(nil, ["--log-format", "json"], folder: folder)
        try await eventually("it runs") {
            daemon.process.record.state.errors.contains { $0.contains("udp-fanout is running") }
        }
        daemon.process.send(SIGTERM)
        #expect(try await daemon.process.exit() == .exited(0))
        let lines = daemon.process.record.state.errors
        let objects = try lines.map { line in
            try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)"
            )
        }
        #expect(objects.first?["message"] as? String == "starting udp-fanout")
        #expect(objects.last?["message"] as? String == "udp-fanout stopped")
        for object in objects {
            #expect(Set(object.keys).isSubset(of: ["timestamp", "level", "message", "metadata"]))
            #expect(["info", "warn"].contains(object["level"] as? String))
            #expect((object["timestamp"] as? String)?.hasSuffix("Z") == true)
        }
        let names = objects.compactMap { ($0["metadata"] as? [String: String])?["listener"] }
        #expect(names.contains("a \"quoted\" name"))
        let refused = try await DaemonUnderTest.run(["--log-format", "xml"], folder: folder)
        #expect(refused.code == 2)
    }

    @Test("Ctrl+C is logged too")
    func interrupt() async throws {
        try await DaemonUnderTest.running(try ConfigText.simple().yaml) { daemon in
            try await daemon.stop(SIGINT)
            #expect(daemon.times("received SIGINT") == 1)
        }
    }

    @Test("names from the file cannot break a line or send terminal codes")
    func hostileNames() async throws {
        var config = try ConfigText.simple()
        config.listeners[0].name = "a\"b\\c {x=\"1\"} ü"
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let line = try #require(
                daemon.process.record.state.errors.first { $0.contains("starting userspace") })
            #expect(line.contains(#"listener="a\"b\\c {x=\"1\"} ü""#), "\(line)")
        }
    }
}
