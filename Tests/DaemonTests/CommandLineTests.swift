// SPDX-License-Identifier: Apache-2.0

import Foundation
import LabNet
import Testing

extension DaemonTests {
    @Suite("Command line")
    struct CommandLineTests {}
}

extension DaemonTests.CommandLineTests {
    @Test(
        "--version prints the version, the commit and the ABI of the kernel programs, and exits 0")
    func version() async throws {
        let run = try await DaemonUnderTest.run(["--version"])
        #expect(run.code == 0)
        let version = try Files.source("VERSION").filter { $0.isNumber || $0 == "." }
        #expect(run.output.hasPrefix("\(version) (commit "), "\(run.output)")
        // Without git the commit is unknown.
        let line =
            /[0-9.]+ \(commit (?:[0-9a-f]{12}(?:-dirty)?|unknown), libbpf v[0-9.]+, BPF ABI \d+\)\n/
        #expect(run.output.wholeMatch(of: line) != nil, "\(run.output)")
        #expect(run.errors == [])
    }

    @Test("--help names every option and subcommand, and exits 0")
    func help() async throws {
        let run = try await DaemonUnderTest.run(["--help"])
        #expect(run.code == 0 && run.errors == [])
        for word in ["check", "demo", "run", "--version"] { #expect(run.output.contains(word)) }
        let options = try await DaemonUnderTest.run(["run", "--help"])
        for word in ["-c", "--config", "-l", "--log-level", "--ebpf-program", "--xdp-program"] {
            #expect(run.output.contains(word) || options.output.contains(word), "\(word)")
        }
    }

    @Test(
        "bad usage is explained on standard error and exits 2",
        arguments: [
            (["--no-such-flag"], "--no-such-flag"),
            (["stray"], "stray"),
            (["--config"], "--config"),
            (["--log-level", "loud"], "loud"),
            (["check", "--log-level", "info"], "--log-level"),
            (["demo", "--rate", "0"], "--rate"),
            (["demo", "--duration", "-1"], "--duration"),
            (["demo", "--duration=-1"], "--duration"),
            (["demo", "--balance", "best"], "round_robin"),
            (["demo", "--port", "65536"], "65536"),
        ])
    func badUsage(arguments: [String], says: String) async throws {
        let run = try await DaemonUnderTest.run(arguments)
        #expect(run.code == 2)
        #expect(run.output == "")
        #expect(run.errors.contains { $0.contains(says) }, "\(run.errors)")
    }

    @Test("an unknown level in UDP_FANOUT_LOG exits 2 and lists the levels")
    func badLevelVariable() async throws {
        let run = try await DaemonUnderTest.run([], environment: ["UDP_FANOUT_LOG": "lo\u{1b}ud"])
        #expect(run.code == 2)
        let said = run.errors.joined(separator: "\n")
        #expect(said.contains("UDP_FANOUT_LOG") && said.contains("trace, debug, info, warn, error"))
        #expect(!said.contains("\u{1b}"))
    }

    /// A level that shows debug lines, info lines, or neither.
    struct Level: CustomTestStringConvertible {
        let flag: String?
        let environment: [String: String]
        let shown: Set<String>
        var testDescription: String { "\(flag ?? "-") \(environment)" }
    }

    @Test(
        "the level is UDP_FANOUT_LOG before RUST_LOG before the flag before info",
        arguments: [
            Level(flag: nil, environment: [:], shown: ["info"]),
            Level(flag: "debug", environment: [:], shown: ["info", "debug"]),
            Level(flag: "warn", environment: [:], shown: []),
            Level(flag: "warn", environment: ["RUST_LOG": "debug"], shown: ["info", "debug"]),
            Level(flag: "debug", environment: ["RUST_LOG": "error"], shown: []),
            Level(flag: nil, environment: ["RUST_LOG": "udp_fanout=debug"], shown: ["info"]),
            Level(
                flag: "error", environment: ["RUST_LOG": "error", "UDP_FANOUT_LOG": "DEBUG"],
                shown: ["info", "debug"]),
            Level(
                flag: "debug", environment: ["RUST_LOG": "debug", "UDP_FANOUT_LOG": "error"],
                shown: []),
            Level(flag: "debug", environment: ["UDP_FANOUT_LOG": ""], shown: ["info", "debug"]),
        ])
    func precedence(level: Level) async throws {
        let config = try ConfigText.simple(metrics: true)
        let port = try #require(config.metricsPort)
        let daemon = try DaemonUnderTest(
            config.yaml, level.flag.map { ["-l", $0] } ?? [], environment: level.environment)
        // Below info no log line shows that it runs; the health page does.
        try await eventually("health") {
            (try? await HTTP.get("/healthz", port: port))?.body.hasPrefix("ok") == true
        }
        try await eventually("listener") {
            try await SocketTable.ports(of: daemon.pid).contains(config.listeners[0].port)
        }
        daemon.process.send(SIGTERM)
        #expect(try await daemon.process.exit() == .exited(0))
        #expect(Set(daemon.log.map(\.level)) == level.shown)
    }

    @Test("a program for a mode without listeners is a warning, and the daemon runs")
    func unusedProgram() async throws {
        let config = try ConfigText.simple()
        let arguments = ["--ebpf-program", "udp-fanout-ebpf", "--xdp-program", "x.o"]
        try await DaemonUnderTest.running(config.yaml, arguments) { daemon in
            let warnings = daemon.log.filter { $0.level == "warn" }
            #expect(warnings.map { $0.fields["flag"] } == ["--ebpf-program", "--xdp-program"])
            #expect(warnings.map { $0.fields["path"] } == ["udp-fanout-ebpf", "x.o"])
            try await daemon.stop()
        }
    }
}
