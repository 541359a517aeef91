// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing

extension CollectorTests {
    @Suite("Programs that exec runs")
    struct ExecTests {}
}

/// stranger.c, compiled.
struct Stranger {
    let folder: ScratchFolder
    let path: String

    init(isStatic: Bool = false) async throws {
        folder = try ScratchFolder()
        path = folder.path("stranger")
        let source = URL(filePath: #filePath).deletingLastPathComponent().path + "/stranger.c"
        let compiler = try ChildProcess(
            "clang",
            (isStatic ? ["-static"] : []) + ["-Wall", "-Wextra", "-O1", "-o", path, source])
        #expect(try await compiler.exit() == .exited(0), "\(compiler.record.state.errors)")
    }

    /// The counts that one has printed, by source.
    static func counts(_ process: ChildProcess) -> [String: Int] {
        var counts: [String: Int] = [:]
        for line in process.record.state.output.dropFirst() {
            let words = line.split(separator: " ")
            if words.count == 2 { counts[String(words[0])] = Int(words[1]) }
        }
        return counts
    }
}

extension CollectorTests.ExecTests {
    private static func exec(
        _ slot: String, _ endpoint: Endpoint, _ pins: BPFFileSystem, _ flags: [String],
        _ command: [String], environment: [String: String] = [:]
    ) throws -> ChildProcess {
        try ChildProcess(
            Files.product("collector"),
            [
                "exec", "--group", "g", "--count", "3", "--slot", slot, "--listen", "\(endpoint)",
                "--pin-root", pins.path,
            ] + flags + ["--"] + command, environment: environment)
    }

    private static func isBound(_ process: ChildProcess) async throws {
        try await process.record.wait("it has bound its socket") { state in
            state.output.contains("bound") ? true : nil
        }
    }

    /// The pid of the member in each slot.
    private static func pids(_ pins: BPFFileSystem) async throws -> [Int32?] {
        try await StatusReport(pins).groups.first?.slots?.map { $0.members.first?.pid } ?? []
    }

    @Test("a program's exit status, signals, standard streams and pid are its own")
    func transparent() async throws {
        let (pins, endpoint) = (try BPFFileSystem(), try Endpoint.free())
        let shell = try Self.exec(
            "0", endpoint, pins, [], ["sh", "-c", "echo out $$; echo err >&2; exit 7"])
        #expect(try await shell.exit() == .exited(7))
        #expect(shell.record.state.output == ["out \(shell.pid)"])
        #expect(shell.record.state.errors == ["err"])
        let sleeper = try Self.exec("0", endpoint, pins, [], ["sleep", "60"])
        try await eventually("the program runs") {
            let name = try String(contentsOfFile: "/proc/\(sleeper.pid)/comm", encoding: .utf8)
            return name == "sleep\n"
        }
        sleeper.send(SIGUSR1)
        #expect(try await sleeper.exit() == .killed(SIGUSR1))
    }

    @Test("of a program's sockets those at --listen join, UDP and TCP, and it sees no other child")
    func sockets() async throws {
        let (pins, endpoint) = (try BPFFileSystem(), try Endpoint.free())
        let program = """
            import os, signal, socket, sys
            signal.signal(signal.SIGCHLD, lambda *_: print("SIGCHLD", flush=True))
            def shared(kind, port):
                s = socket.socket(socket.AF_INET, kind)
                s.bind(("127.0.0.1", port))
                if kind == socket.SOCK_STREAM: s.listen()
                print("shared", s.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT), flush=True)
                return s
            port = int(sys.argv[1])
            kept = [shared(socket.SOCK_DGRAM, port), shared(socket.SOCK_STREAM, port),
                    shared(socket.SOCK_DGRAM, 0), shared(socket.SOCK_STREAM, 0)]
            try:
                os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                print("no child", flush=True)
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind(("127.0.0.2", port))
            child = os.fork()
            if child == 0: signal.pause()
            print("bound", child, flush=True)
            """
        let process = try Self.exec(
            "2", endpoint, pins, [], ["python3", "-c", program, "\(endpoint.port)"])
        // The program ends, and its child has the sockets.
        let ending = try await process.record.wait("the program ends") { $0.ending }
        #expect(ending == .exited(0))
        let state = process.record.state
        #expect(
            state.output.dropLast() == [
                "shared 1", "shared 1", "shared 0", "shared 0", "no child",
            ])
        let child = try #require(
            state.output.last?.split(separator: " ").last.flatMap { Int32($0) })
        #expect(
            state.errors.count == 1
                && state.errors[0].contains("binds 127.0.0.2, port \(endpoint.port), which is not"),
            "\(state.errors)")
        let slot = try #require(try await StatusReport(pins).groups.first?.slots?[2])
        #expect(slot.members.map(\.transport).sorted() == ["tcp", "udp"])
        #expect(slot.members.allSatisfy { $0.pid == process.pid })
        kill(child, SIGKILL)
        try await eventually("the slot is empty with the last close") {
            try await StatusReport(pins).groups.first?.slots?[2].members.isEmpty == true
        }
    }

    @Test("auto gives each program a slot of its own, and refuses one more")
    func auto() async throws {
        let (pins, endpoint) = (try BPFFileSystem(), try Endpoint.free())
        let stranger = try await Stranger()
        let words = [stranger.path, "\(endpoint.address)", "\(endpoint.port)"]
        let programs = try (0..<3).map { _ in try Self.exec("auto", endpoint, pins, [], words) }
        for program in programs { try await Self.isBound(program) }
        #expect(
            try await Self.pids(pins).compactMap { $0 }.sorted() == programs.map(\.pid).sorted())
        let fourth = try Self.exec("auto", endpoint, pins, [], words)
        #expect(try await fourth.exit() == .exited(3))
        let errors = fourth.record.state.errors
        #expect(errors.first?.contains("all 3 slots have a live member") == true, "\(errors)")
        #expect(errors.last == "bind: Address already in use")
        for program in programs { program.send(SIGKILL) }
    }

    @Test("a static program takes its socket as LISTEN_FDS, or is adopted")
    func isStatic() async throws {
        let (pins, endpoint) = (try BPFFileSystem(), try Endpoint.free())
        let stranger = try await Stranger(isStatic: true)
        let words = [stranger.path, "\(endpoint.address)", "\(endpoint.port)"]
        let refused = try Self.exec("0", endpoint, pins, [], words)
        #expect(try await refused.exit() == .exited(1))
        let why = refused.record.state.errors.joined()
        #expect(why.contains("it is statically linked") && why.contains("--listen-fds"), "\(why)")
        let passed = try Self.exec("0", endpoint, pins, ["--listen-fds"], words + ["passed"])
        try await Self.isBound(passed)
        let sharing = try ChildProcess(stranger.path, words.dropFirst() + ["share"])
        try await Self.isBound(sharing)
        let run = try await CollectorUnderTest.run([
            "adopt", "--group", "g", "--slot", "1", "--pid", "\(sharing.pid)", "--pin-root",
            pins.path,
        ])
        #expect(run.code == 0, "\(run.errors)")
        #expect(try await Self.pids(pins) == [passed.pid, sharing.pid, nil])
        for source in (1...32 as ClosedRange<UInt32>).map({ IPAddress.loopback($0) }) {
            try Traffic(to: endpoint, from: source).send([1])
        }
        passed.send(SIGTERM)
        sharing.send(SIGTERM)
        #expect(try await passed.exit() == .exited(0))
        #expect(try await sharing.exit() == .exited(0))
        let counts = [passed, sharing].map { Stranger.counts($0) }
        #expect(counts.allSatisfy { !$0.isEmpty } && counts[0].count + counts[1].count == 32)
    }

    @Test("with --store, what arrives between kill -9 and the next start waits for it")
    func stored() async throws {
        let (pins, endpoint) = (try BPFFileSystem(), try Endpoint.free())
        let stranger = try await Stranger(isStatic: true)
        let manager = try NotifySocket(stranger.folder)
        let words = [
            "exec", "--group", "g", "--count", "3", "--slot", "1", "--listen", "\(endpoint)",
            "--pin-root", pins.path, "--listen-fds", "--store", "--", stranger.path,
            "\(endpoint.address)", "\(endpoint.port)", "passed",
        ]
        func start() throws -> ChildProcess {
            try ChildProcess(
                Files.product("collector"), words, environment: ["NOTIFY_SOCKET": manager.path],
                passing: manager.kept)
        }
        func cookies() async throws -> [UInt64] {
            try #require(try await StatusReport(pins).groups.first?.slots)[1].members.map(\.cookie)
        }
        let first = try start()
        try await Self.isBound(first)
        let cookie = try await cookies()
        #expect(manager.kept.count == 1 && cookie.count == 1)
        await first.end()
        let sources = (1...32 as ClosedRange<UInt32>).map { IPAddress.loopback($0) }
        for source in sources { try Traffic(to: endpoint, from: source).send([1]) }
        #expect(try await cookies() == cookie)
        let second = try start()
        try await Self.isBound(second)
        for source in sources { try Traffic(to: endpoint, from: source).send([1]) }
        #expect(try await cookies() == cookie && manager.kept.count == 1)
        second.send(SIGTERM)
        #expect(try await second.exit() == .exited(0))
        #expect(Stranger.counts(second).values.allSatisfy { $0 == 2 })
        #expect(Stranger.counts(second).count == 32)
    }

    @Test("a refusal names the reason and the remedy, and starts nothing")
    func refused() async throws {
        let (pins, endpoint) = (try BPFFileSystem(), try Endpoint.free())
        let stranger = try await Stranger()
        let copy = stranger.folder.path("setuid")
        try FileManager.default.copyItem(atPath: stranger.path, toPath: copy)
        chown(copy, 65_534, 65_534)
        chmod(copy, 0o4755)
        let script = try stranger.folder.write("#!\(copy)\n", to: "script")
        chmod(script, 0o755)
        for (command, reason) in [
            ([copy], "it gains privilege"), ([script], "it gains privilege"),
            (["no-such-program"], "no such program in PATH"),
            (["/etc/passwd"], "Permission denied"),
        ] {
            let process = try Self.exec("0", endpoint, pins, [], command)
            #expect(try await process.exit() == .exited(1))
            let errors = process.record.state.errors.joined()
            #expect(errors.hasPrefix("collector: run ") && errors.contains(reason), "\(errors)")
        }
        for flags in [["--store"], ["--stop", "99"], ["--replace", "--slot", "auto"]] {
            let process = try Self.exec("0", endpoint, pins, flags, ["true"])
            #expect(try await process.exit() == .exited(2), "\(flags)")
        }
        let none = try Self.exec("0", endpoint, pins, [], [])
        #expect(try await none.exit() == .exited(2))
        #expect(try await StatusReport(pins).groups.isEmpty)
    }

    @Test(
        "--replace --stop: three programs are replaced under load; no datagram is lost, no source moves"
    )
    func rolling() async throws {
        let (pins, endpoint) = (try BPFFileSystem(), try Endpoint.free())
        let stranger = try await Stranger()
        let manager = try NotifySocket(stranger.folder)
        let words = [stranger.path, "\(endpoint.address)", "\(endpoint.port)"]
        var programs: [ChildProcess] = []
        for slot in 0..<3 {
            programs.append(try Self.exec("\(slot)", endpoint, pins, [], words))
            try await Self.isBound(programs[slot])
        }
        // A new program that ends at once leaves the old one in the slot; what its queue had is lost with it.
        let failed = try Self.exec(
            "0", endpoint, pins, ["--replace", "--stop", "\(programs[0].pid)"], words + ["quit"])
        #expect(try await failed.exit() == .exited(1))
        let reason = failed.record.state.errors.joined()
        #expect(reason.contains("ended with status 4; the old one keeps the slot"), "\(reason)")
        let wrong = try Self.exec(
            "0", endpoint, pins, ["--replace", "--stop", "\(programs[1].pid)"], words)
        #expect(try await wrong.exit() == .exited(1))
        #expect(try await Self.pids(pins) == programs.map(\.pid))

        let sources = try (1...64 as ClosedRange<UInt32>).map {
            try Traffic(to: endpoint, from: .loopback($0))
        }
        let load = try Load(sources, rate: 10_000)
        var runs: [ChildProcess] = []
        for slot in 0..<3 {
            let run = try Self.exec(
                "\(slot)", endpoint, pins, ["--replace", "--stop", "\(programs[slot].pid)"],
                words + ["drain"], environment: ["NOTIFY_SOCKET": manager.path])
            runs.append(run)
            #expect(try await programs[slot].exit() == .exited(0))
        }
        let current = try await Self.pids(pins).compactMap { $0 }
        #expect(current.count == 3 && Set(current).isDisjoint(with: programs.map(\.pid)))
        #expect(manager.lines == current.map { "MAINPID=\($0)" })
        let report = await load.stop()
        for pid in current { kill(pid, SIGTERM) }
        var counts: [[String: Int]] = []
        for (slot, run) in runs.enumerated() {
            // Its output is that of the program, which ends after it.
            try await run.record.wait("the program has ended") { $0.open.isEmpty ? true : nil }
            counts.append(
                Stranger.counts(programs[slot]).merging(Stranger.counts(run), uniquingKeysWith: +))
        }
        #expect(counts.flatMap(\.values).reduce(0, +) == Int(report.datagrams))
        #expect(counts.flatMap(\.keys).count == 64)
    }

    @Test("the template unit's commands start a member and replace it")
    func unit() async throws {
        let stranger = try await Stranger()
        let manager = try NotifySocket(stranger.folder)
        let unit = try Files.source("packaging/systemd/collector@.service").split(separator: "\n")
        /// Starts the command of a line as systemd.service(5) describes it.
        @Sendable func start(_ key: String, main: Int32 = 0) throws -> ChildProcess {
            let line = try #require(unit.first { $0.hasPrefix("\(key)=") })
            let values = [
                "${GROUP}": "g", "${COUNT}": "2", "%i": "1", "${LISTEN}": "127.0.0.1:2055",
                "$MAINPID": "\(main)",
            ]
            var words = line.dropFirst(key.count + 1).split(separator: " ").map(String.init)
            words =
                words.map { values[$0] ?? $0 }.dropLast() + [stranger.path, "127.0.0.1", "2055"]
            #expect(words.removeFirst() == "/usr/bin/collector")
            return try ChildProcess(
                Files.product("collector"), words, environment: ["NOTIFY_SOCKET": manager.path])
        }
        try await Namespace.withOwnMounts(["link set lo up"]) {
            let first = try start("ExecStart")
            try await Self.isBound(first)
            let reload = try start("ExecReload", main: first.pid)
            #expect(try await first.exit() == .exited(0))
            let ending = try await reload.record.wait("the reload is over") { $0.ending }
            #expect(ending == .exited(0), "\(reload.record.state.errors)")
            let next = try #require(manager.lines.last?.wholeMatch(of: /MAINPID=(\d+)/)?.output.1)
            kill(try #require(Int32(next)), SIGTERM)
            try await reload.record.wait("the program has ended") { $0.open.isEmpty ? true : nil }
        }
    }
}
