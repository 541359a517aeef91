// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import Testing

extension DaemonTests {
    /// Receivers found before a change stay known, whether or not the change succeeds.
    @Suite("Last-known receivers")
    struct DiscoveryTestsMemory {
        private let folder: ScratchFolder
        private let port: UInt16
        private let sinks: [Sink]

        init() throws {
            folder = try ScratchFolder()
            port = try Ports.free()
            let receivers = try Ports.free()
            sinks = try (1...2).map {
                try Sink(on: IPAddress(v4: 0x7f00_0000 + $0), port: receivers)
            }
        }
    }
}

extension DaemonTests.DiscoveryTestsMemory {
    private func config(_ source: String, _ more: String = "") -> String {
        """
        listeners:
          - {name: in, bind: "127.0.0.1:\(port)", \(source)}
        \(more)

        """
    }

    /// The addresses of these receivers, in a file.
    private func list(_ sinks: [Sink], _ name: String) throws -> String {
        let path = try folder.write(
            sinks.map { "\($0.endpoint)\n" }.joined() + "# end\n", to: name)
        return "file: {path: \"\(path)\"}"
    }

    @Test("a reload to a source that does not answer keeps them until it answers, and logs that")
    func reload() async throws {
        let (first, second) = (sinks[0], sinks[1])
        let known = try list([first], "known")
        try await DaemonUnderTest.running(config(known), folder: folder) { daemon in
            let load = try Load([Traffic(to: Endpoint(.loopback, port: port))], rate: 2000)
            try await load.pass(500)
            let missing = "file: {path: \"\(folder.path("missing"))\"}"
            try folder.replace(DaemonUnderTest.configName, with: config(missing))
            try await daemon.logs(DaemonUnderTest.reloaded)
            #expect(
                daemon.times("file discovery: no answer yet, the last-known receivers stay active")
                    == 1)
            try await load.pass(500)
            _ = try list([second], "missing")
            try await eventually("the new one receives") { second.arrivals > 0 }
            try await load.pass(500)
            let report = await load.stop()
            try await eventually("all arrive") { sinks.arrivals == report.datagrams }
            try await daemon.stop()
        }
    }

    @Test("two listeners that move to one silent source each keep their own, also across kill -9")
    func lastKnowns() async throws {
        let ports = [port, try Ports.free()]
        func config(_ sources: [String]) -> String {
            "listeners:\n"
                + zip(ports, sources).map {
                    "  - {name: in\($0), bind: \"127.0.0.1:\($0)\", \($1)}\n"
                }
                .joined()
        }
        let known = sinks.map {
            "downstream: [{name: a, address: \"\($0.endpoint)\"}]"
        }
        let missing = "file: {path: \"\(folder.path("missing"))\"}"
        var daemon = try DaemonUnderTest(config(known), folder: folder)
        try await daemon.isRunning()
        func pass() async throws {
            let before = sinks.map(\.arrivals)
            for (sink, target) in zip(sinks.indices, ports) {
                let load = try Load([Traffic(to: Endpoint(.loopback, port: target))], rate: 1000)
                try await load.pass(100)
                let report = await load.stop()
                try await eventually("all arrive at their own receiver") {
                    sinks[sink].arrivals - before[sink] == report.datagrams
                }
            }
        }
        try await pass()
        try await daemon.reload(config([missing, missing]))
        try await pass()
        try await eventually("the last-known receivers are saved") {
            try String(contentsOfFile: daemon.controlPath + ".receivers", encoding: .utf8)
                .contains("\"listener\":\"in\(ports[1])\"")
        }
        await daemon.process.end()
        daemon = try DaemonUnderTest(config([missing, missing]), folder: folder)
        try await daemon.isRunning()
        try await pass()
        try await daemon.stop()
    }

    @Test("`reload` reports a source that does not answer")
    func told() async throws {
        let known = try list([sinks[0]], "known")
        try await DaemonUnderTest.running(config(known), folder: folder) { daemon in
            let missing = folder.path("missing")
            try folder.replace(
                DaemonUnderTest.configName, with: config("file: {path: \"\(missing)\"}"))
            try await daemon.logs(DaemonUnderTest.reloaded)
            try folder.replace(
                DaemonUnderTest.configName, with: config("file: {path: \"\(missing)2\"}"))
            let reload = try await DaemonUnderTest.run(
                ["reload", "--socket", daemon.controlPath], folder: folder)
            #expect(reload.code == 0)
            #expect(
                (reload.output + reload.errors.joined()).contains(
                    "file:\(missing)2: no answer yet, the last-known receivers stay active"))
            try await daemon.stop()
        }
    }

    @Test("a failed takeover leaves the old daemon's last-known receivers as they are")
    func takeover() async throws {
        let known = try list([sinks[0]], "known")
        let held = try HeldPort(try Ports.free(), SOCK_STREAM, listens: true)
        try await DaemonUnderTest.running(config(known), folder: folder) { daemon in
            try await daemon.remembersReceivers()
            let before = try Data(contentsOf: URL(filePath: daemon.controlPath + ".receivers"))
            let other = try folder.write(
                config(
                    try list([sinks[1]], "other"),
                    "metrics: {enabled: true, bind: \"127.0.0.1:\(held.port)\"}"),
                to: "other.yaml")
            let next = try DaemonUnderTest(
                nil, ["--takeover", "--config", other], folder: folder)
            #expect(try await next.process.exit() == .exited(1))
            let after = try Data(contentsOf: URL(filePath: daemon.controlPath + ".receivers"))
            #expect(after == before)
            try await daemon.stop()
        }
    }

    @Test("a reload that moves the control socket moves them too")
    func moved() async throws {
        let known = try list([sinks[0]], "known")
        try await DaemonUnderTest.running(config(known), folder: folder) { daemon in
            try await daemon.remembersReceivers()
            let place = folder.path("moved.sock")
            try await daemon.reload(config(known, "control: {socket: \"\(place)\"}"))
            try await eventually("they are kept there") {
                FileManager.default.fileExists(atPath: place + ".receivers")
            }
            try await daemon.stop()
        }
    }
}
