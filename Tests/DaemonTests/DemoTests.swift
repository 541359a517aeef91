// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import Testing

extension DaemonTests {
    @Suite("demo")
    struct DemoTests {
        /// The counts of one line in a pipe.
        struct Line {
            var receivers: [Int] = []
            var totals: [String: Int] = [:]

            init?(_ text: String) {
                let form =
                    #/
                    (?<receivers> (?: receiver-\d+=\d+ \s+ )+)
                    (?<totals> sent\ (\d+) \s+ received\ (\d+) \s+ forwarded\ (\d+) \s+ dropped\ (\d+))
                    /#
                guard let match = text.wholeMatch(of: form) else { return nil }
                receivers = match.output.receivers.matches(of: /=(\d+)/).compactMap {
                    Int($0.output.1)
                }
                for total in match.output.totals.matches(of: /([a-z]+) (\d+)/) {
                    totals[String(total.output.1)] = Int(total.output.2)
                }
            }
        }

        static func lines(_ output: [String]) -> [Line] { output.compactMap { Line($0) } }

        /// Runs the daemon as user 65534, from a path that any user may execute.
        static func unprivileged(_ arguments: [String], folder: ScratchFolder) throws
            -> ChildProcess
        {
            let copy = folder.path("udp-fanout")
            if !FileManager.default.fileExists(atPath: copy) {
                try FileManager.default.copyItem(atPath: Files.daemon, toPath: copy)
                chmod(copy, 0o755)
            }
            let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"]
            return try ChildProcess("setpriv", user + [copy] + arguments, folder: folder)
        }

        static func ports() throws -> [String] {
            ["--port", "\(try Ports.free())", "--metrics-port", "\(try Ports.free())"]
        }
    }
}

extension DaemonTests.DemoTests {
    @Test(
        "in a pipe, as an unprivileged user: a line a second, even shares, Ctrl+C ends it"
    )
    func unprivilegedPipe() async throws {
        let demo = try Self.unprivileged(["demo"] + Self.ports(), folder: try ScratchFolder())
        try await demo.record.wait("three lines") { state in
            Self.lines(state.output).count >= 3 ? true : nil
        }
        demo.send(SIGINT)
        #expect(try await demo.exit() == .exited(0))
        let state = demo.record.state
        #expect(state.errors == [])
        #expect(!state.output.joined().contains("\u{1b}"))
        #expect(state.output.first?.hasPrefix("udp-fanout demo: ") == true)
        let last = try #require(Self.lines(state.output).last)
        #expect(last.receivers.count == 3)
        let total = last.receivers.reduce(0, +)
        // 1000 datagrams a second; the first line shows one second.
        #expect(total > 1500)
        for share in last.receivers { #expect(abs(share * 3 - total) <= total / 20 + 3) }
        #expect(last.totals["dropped"] == 0)
    }

    @Test("ends by itself after --duration, and at once when no process reads its lines")
    func ends() async throws {
        let arguments = try ["demo", "--duration", "1", "--rate", "100"] + Self.ports()
        let begin = ContinuousClock.now
        let run = try await DaemonUnderTest.run(arguments)
        #expect(run.code == 0 && run.errors == [])
        #expect(ContinuousClock.now - begin >= .seconds(1))
        #expect(Self.lines(run.output.split(separator: "\n").map(String.init)).count == 1)

        let unread = try ChildProcess(Files.daemon, ["demo"] + Self.ports())
        try await unread.record.wait("a line") { Self.lines($0.output).first == nil ? nil : true }
        unread.record.hangUp(1)
        #expect(try await unread.exit() == .exited(0))
    }

    @Test("uses free ports when its own are taken, and prints them")
    func takenPorts() async throws {
        let taken = [
            try? HeldPort(9000, SOCK_DGRAM), try? HeldPort(9090, SOCK_STREAM, listens: true),
        ]
        let run = try await DaemonUnderTest.run(["demo", "--duration", "1"])
        #expect(run.code == 0, "\(run.errors)")
        #expect(run.output.contains("datagrams to 127.0.0.1:"))
        #expect(!run.output.contains("127.0.0.1:9000 ") && !run.output.contains(":9090/metrics"))
        let lines = Self.lines(run.output.split(separator: "\n").map(String.init))
        #expect(lines.last.map { $0.receivers.allSatisfy { $0 > 100 } } == true)
        withExtendedLifetime(taken) {}
    }

    @Test("redraws its table in place on a terminal")
    func terminal() async throws {
        let ports = try Self.ports().joined(separator: " ")
        let command = "'\(Files.daemon)' demo --duration 2 --balance source_ip \(ports)"
        let script = try ChildProcess("script", ["-qec", command, "/dev/null"])
        #expect(try await script.exit() == .exited(0))
        let text = script.record.state.output.joined(separator: "\n")
        // To the first of six lines, and the rest of each line erased (ECMA-48: CPL and EL).
        #expect(text.components(separatedBy: "\u{1b}[6F").count >= 3, "\(text)")
        for part in ["receiver", "share", "per second", "receiver-3", " % ", "\u{1b}[K"] {
            #expect(text.contains(part), "\(part)")
        }
        #expect(Self.lines(script.record.state.output).isEmpty)
    }

    @Test("serves the metrics of a real daemon")
    func metrics() async throws {
        let port = try Ports.free()
        let demo = try ChildProcess(
            Files.daemon, ["demo", "--port", "\(try Ports.free())", "--metrics-port", "\(port)"])
        try await eventually("datagrams are counted") {
            let page = try? await MetricsPage.scrape(port)
            return (page?.count("packets_forwarded_total", ["listener": "demo"]) ?? 0) > 100
        }
        demo.send(SIGTERM)
        #expect(try await demo.exit() == .exited(0))
    }
}
