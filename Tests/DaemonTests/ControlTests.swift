// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing

extension DaemonTests {
    @Suite("Control socket")
    struct ControlTests {}
}

extension DaemonUnderTest {
    /// Runs a command that talks to this daemon.
    func command(_ words: [String]) async throws -> (code: Int32, output: String, errors: String) {
        let run = try await Self.run(words + ["--socket", controlPath])
        return (run.code, run.output, run.errors.joined(separator: "\n"))
    }

    func status() throws -> StatusReport {
        let answer = try ControlClient(path: controlPath).ask(ControlRequest(.status))
        guard let status = answer.status else { throw Failed("\(answer)", EPROTO) }
        return status
    }

    func receiver(_ name: String, of listener: String = "in") throws -> ReceiverStatus? {
        try status().listeners.first { $0.name == listener }?.receivers.first { $0.name == name }
    }
}

extension DaemonTests.ControlTests {
    @Test("status shows listeners, receivers, counters and rates, as text and as JSON")
    func status() async throws {
        let sinks = try tallyingSinks(2)
        let config = try ConfigText.simple(receivers: sinks.ports)
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let traffic = try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port))
            try await eventually("counters have been noted") { try daemon.status().rateSeconds > 0 }
            for number in 0..<10 { traffic.send(Array("\(number)".utf8)) }
            try await eventually("10 datagrams are counted, and their rate") {
                let listener = try daemon.status().listeners.first
                return listener?.packetsForwarded == 10
                    && (listener?.rates.packetsForwarded ?? 0) > 0
            }
            let status = try daemon.status()
            #expect(status.pid == daemon.pid && status.reload.lastSuccessful)
            let listener = try #require(status.listeners.first)
            #expect(listener.name == "in" && listener.workers == 1 && listener.drops == [:])
            #expect(listener.receivers.map(\.packetsForwarded) == [5, 5])
            #expect(listener.receivers.map(\.state) == [.ready, .ready])

            let text = try await daemon.command(["status"])
            #expect(text.code == 0)
            #expect(text.output.contains("listener in  127.0.0.1:\(config.listeners[0].port)"))
            #expect(text.output.contains("r1") && text.output.contains("ready"))
            #expect(!text.output.contains("\u{1b}"), "no colours in a pipe")
            let json = try await daemon.command(["status", "--json"])
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
            #expect(object["ok"] as? Bool == true)
            let inside = object["status"] as? [String: Any]
            #expect(inside?["uptime_seconds"] is NSNumber)
        }
    }

    @Test("while the daemon starts, status works and changes are refused")
    func starting() async throws {
        // A server that does not answer.
        let server = try HeldPort(try Ports.free(), SOCK_DGRAM)
        let config = """
            listeners:
              - name: in
                bind: "127.0.0.1:\(try Ports.free())"
                dns: {name: r.example, port: 1, server: "127.0.0.1:\(server.port)"}
            settings: {workers: 1}

            """
        let daemon = try DaemonUnderTest(config)
        try await daemon.logs("control socket ready")
        for words in [["reload"], ["drain", "in/r"], ["undrain", "in/r"]] {
            let answer = try await daemon.command(words)
            #expect(answer.code != 0 && answer.errors.contains("the daemon is starting"))
        }
        #expect(try daemon.status().listeners.isEmpty)
        try await daemon.isRunning()
        #expect(try await daemon.command(["reload"]).code == 0)
        try await daemon.stop()
    }

    @Test("a drained receiver gets nothing until it is undrained, also across a reload")
    func drain() async throws {
        let sinks = try tallyingSinks(2)
        var config = try ConfigText.simple(receivers: sinks.ports)
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let traffic = try Traffic(to: Endpoint(.loopback, port: config.listeners[0].port))
            let drained = try await daemon.command(["drain", "in/r1"])
            #expect(drained.code == 0 && drained.output == "drained: in/r1\n", "\(drained)")
            for _ in 0..<10 { traffic.send([1]) }
            try await eventually("the other receiver gets all of them") { sinks[1].arrivals == 10 }
            #expect(sinks[0].arrivals == 0)
            #expect(try daemon.receiver("r1")?.state == .drained)
            #expect(try daemon.receiver("r1")?.weight == 1)
            #expect(try daemon.receiver("r1")?.weightInForce == 0)

            config.listeners[0].receivers[1].weight = 3
            try await daemon.reload(config.yaml)
            #expect(try daemon.receiver("r1")?.state == .drained)
            #expect(try daemon.status().drained == ["in/r1"])

            let again = try await daemon.command(["drain", "r1"])
            #expect(again.output == "drained already: in/r1\n")
            let last = try await daemon.command(["drain", "r2"])
            #expect(last.output.contains("listener in has no receiver left"))
            _ = try await daemon.command(["undrain", "r2"])
            let back = try await daemon.command(["undrain", "r1"])
            #expect(back.code == 0 && back.output == "in service: in/r1\n")
            #expect(try daemon.receiver("r1")?.weightInForce == 1)
            for _ in 0..<8 { traffic.send([1]) }
            try await eventually("it has its share again") {
                sinks[0].arrivals == 2 && sinks[1].arrivals == 16
            }
        }
    }

    @Test("a backup gets datagrams only while no other receiver is ready")
    func backup() async throws {
        let sinks = try tallyingSinks(2)
        let port = try Ports.free()
        let config = """
            listeners:
              - name: in
                bind: "127.0.0.1:\(port)"
                downstream:
                  - {name: first, address: "127.0.0.1:\(sinks.ports[0])"}
                  - {name: spare, address: "127.0.0.1:\(sinks.ports[1])", backup: true}
            settings: {workers: 1}

            """
        try await DaemonUnderTest.running(config) { daemon in
            let traffic = try Traffic(to: Endpoint(.loopback, port: port))
            for _ in 0..<10 { traffic.send([1]) }
            try await eventually("the first gets all") { sinks[0].arrivals == 10 }
            #expect(try daemon.receiver("spare")?.state == .standby)
            #expect(try daemon.receiver("spare")?.weightInForce == 0)
            #expect(try await daemon.command(["drain", "first"]).code == 0)
            for _ in 0..<10 { traffic.send([1]) }
            try await eventually("the backup gets all") { sinks[1].arrivals == 10 }
            #expect(try daemon.receiver("spare")?.state == .ready)
            #expect(try await daemon.command(["undrain", "first"]).code == 0)
            for _ in 0..<10 { traffic.send([1]) }
            try await eventually("the first gets all again") { sinks[0].arrivals == 20 }
            #expect(sinks[1].arrivals == 10)
        }
    }

    @Test("an unknown receiver is refused with the list of receivers")
    func unknownName() async throws {
        try await DaemonUnderTest.running(try ConfigText.simple().yaml) { daemon in
            let run = try await daemon.command(["drain", "in/unknown"])
            #expect(run.code == 1 && run.output == "")
            #expect(
                run.errors
                    == "drain: no receiver is called 'in/unknown': there are: in/r1, in/r2")
        }
    }

    @Test(
        "explain names the receiver that then gets the packet, and why",
        arguments: ["source_ip", "four_tuple"])
    func explain(balance: String) async throws {
        let sinks = try tallyingSinks(3)
        var config = try ConfigText.simple(receivers: sinks.ports)
        config.listeners[0].balance = balance
        let port = config.listeners[0].port
        try await DaemonUnderTest.running(config.yaml) { daemon in
            for _ in 0..<6 {
                let traffic = try Traffic(to: Endpoint(.loopback, port: port))
                let source = "\(traffic.source)"
                let answer = try ControlClient(path: daemon.controlPath)
                    .ask(ControlRequest(.explain, from: source, to: "127.0.0.1:\(port)"))
                let named = try #require(answer.explanation?.receiver)
                let index = try #require(Int(named.dropFirst())) - 1
                let before = sinks.map(\.arrivals)
                traffic.send([7])
                try await eventually("\(named) has it") {
                    sinks[index].arrivals == before[index] + 1
                }
            }
            let text = try await daemon.command(["explain", "192.0.2.7:5", "127.0.0.1:\(port)"])
            #expect(text.code == 0)
            #expect(text.output.contains("is bound to the destination"))
            #expect(text.output.contains("modulo"))
            let none = try await daemon.command(["explain", "192.0.2.7:5", "127.0.0.1:1"])
            #expect(
                none.code == 1 && none.errors.contains("no listener takes datagrams to 127.0.0.1:1")
            )
        }
    }

    @Test("explain needs the payload of a datagram for balance payload, and status shows its bytes")
    func explainPayload() async throws {
        let sinks = try tallyingSinks(3)
        var config = try ConfigText.simple(receivers: sinks.ports)
        config.listeners[0].balance = "payload\n    payload_key: {offset: 1, length: 2}"
        let port = config.listeners[0].port
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let traffic = try Traffic(to: Endpoint(.loopback, port: port))
            let words = ["explain", "\(traffic.source)", "127.0.0.1:\(port)"]
            let none = try await daemon.command(words)
            #expect(none.code == 1 && none.errors.contains("--payload HEX"))
            let odd = try await daemon.command(words + ["--payload", "0a0"])
            #expect(odd.code == 2 && odd.errors.contains("hexadecimal"))
            for number in 0..<6 as Range<UInt8> {
                let text = try await daemon.command(words + ["--payload", "00 0\(number) ff"])
                #expect(
                    text.code == 0 && text.output.contains("the bytes 0\(number)ff of the payload"))
                let before = sinks.map(\.arrivals)
                traffic.send([0, number, 0xff])
                try await eventually("it arrives where explain says") {
                    sinks.indices.contains {
                        sinks[$0].arrivals == before[$0] + 1 && text.output.contains("r\($0 + 1) (")
                    }
                }
            }
            let status = try daemon.status().listeners.first
            #expect(status?.balance == "payload" && status?.payloadKey == "offset=1,length=2")
            config.listeners[0].balance = "payload\n    payload_key: {offset: 0, length: 2}"
            try daemon.folder.replace(DaemonUnderTest.configName, with: config.yaml)
            let reload = try await daemon.command(["reload"])
            #expect(reload.code == 0, "\(reload)")
            #expect(try daemon.status().listeners.first?.payloadKey == "offset=0,length=2")
        }
    }

    @Test("reload says what changed, or every problem, and exits accordingly")
    func reload() async throws {
        var config = try ConfigText.simple()
        try await DaemonUnderTest.running(config.yaml) { daemon in
            config.listeners[0].receivers[0].weight = 2
            try daemon.folder.replace(DaemonUnderTest.configName, with: config.yaml)
            let good = try await daemon.command(["reload"])
            #expect(good.code == 0 && good.output.hasPrefix("reloaded: "), "\(good)")
            try daemon.folder.replace(
                DaemonUnderTest.configName, with: config.yaml + "colour: red\nsize: 3\n")
            let bad = try await daemon.command(["reload"])
            #expect(bad.code == 1 && bad.output == "")
            #expect(
                bad.errors.contains("colour: unknown key")
                    && bad.errors.contains("size: unknown key"))
            #expect(try daemon.status().reload.lastSuccessful == false)
            let json = try await daemon.command(["reload", "--json"])
            #expect(json.code == 1 && json.output.contains(#""problems":["#))
        }
    }

    @Test(
        "without a daemon each command reports the path that it tried and a remedy",
        arguments: [
            ["status"], ["drain", "x"], ["undrain", "x"], ["reload"],
            ["explain", "192.0.2.1:1", "192.0.2.2:2"],
        ])
    func noDaemon(words: [String]) async throws {
        let folder = try ScratchFolder()
        let path = folder.path("control.sock")
        let run = try await DaemonUnderTest.run(words, folder: folder)
        #expect(run.code == 1)
        #expect(
            run.errors == [
                "\(words[0]): no daemon listens at \(path): start udp-fanout, or name its "
                    + "control.socket with --socket"
            ])
        let json = try await DaemonUnderTest.run(words + ["--json"], folder: folder)
        #expect(json.code == 1 && json.output.hasPrefix(#"{"error":{"message":"no daemon"#))
    }

    @Test("a second daemon fails if it names the socket, and runs without one at the default path")
    func second() async throws {
        let folder = try ScratchFolder()
        let path = folder.path("named.sock")
        let named = "control:\n  socket: \(path)\n"
        try await DaemonUnderTest.running(try ConfigText.simple().yaml + named) { _ in
            let other = try DaemonUnderTest(try ConfigText.simple().yaml + named)
            let ending = try await other.process.exit()
            #expect(ending == .exited(1))
            let said = try await other.logs("start-up failed").fields["error"] ?? ""
            #expect(said.contains(path))
        }
        try await DaemonUnderTest.running(try ConfigText.simple().yaml) { first in
            let environment = ["RUNTIME_DIRECTORY": first.folder.url.path]
            try await DaemonUnderTest.running(
                try ConfigText.simple().yaml, environment: environment
            ) { second in
                #expect(second.times("no control socket") == 1)
                let answering = try first.status().pid
                #expect(answering == first.pid)
            }
        }
    }

    @Test("the next daemon replaces the socket of a killed one, and removes its own when it ends")
    func killed() async throws {
        let config = try ConfigText.simple().yaml
        let folder = try ScratchFolder()
        try await DaemonUnderTest.running(config, folder: folder) { daemon in
            await daemon.process.end()
        }
        #expect(access(folder.path("control.sock"), F_OK) == 0)
        try await DaemonUnderTest.running(config, folder: folder) { daemon in
            #expect(try daemon.status().pid == daemon.pid)
            try await daemon.stop()
        }
        #expect(access(folder.path("control.sock"), F_OK) != 0)
    }

    @Test("a reload moves it, and removes it")
    func moves() async throws {
        let config = try ConfigText.simple().yaml
        try await DaemonUnderTest.running(config) { daemon in
            let path = daemon.folder.path("moved.sock")
            try await daemon.reload(config + "control:\n  socket: \(path)\n")
            #expect(access(daemon.controlPath, F_OK) != 0)
            #expect(try ControlClient(path: path).ask(ControlRequest(.status)).ok)
            try await daemon.reload(config + "control:\n  enabled: false\n")
            #expect(access(path, F_OK) != 0)
        }
    }

    @Test(
        "status finds it through the configuration, as the container's health check does")
    func byConfiguration() async throws {
        let folder = try ScratchFolder()
        let named = "control:\n  socket: \(folder.path("named.sock"))\n"
        let config = try ConfigText.simple().yaml + named
        try await DaemonUnderTest.running(config, folder: folder) { daemon in
            let file = folder.path(DaemonUnderTest.configName)
            let usual = try await DaemonUnderTest.run(["status", "--json"], folder: folder)
            #expect(usual.code == 1)
            let run = try await DaemonUnderTest.run(["status", "--config", file], folder: folder)
            #expect(run.code == 0 && run.output.contains("process \(daemon.pid)"), "\(run.errors)")
            // An invalid file names no socket.
            let other = try await DaemonUnderTest.run(
                ["status", "--config", "/none"], folder: folder)
            #expect(other.code == 1)
        }
    }
}
