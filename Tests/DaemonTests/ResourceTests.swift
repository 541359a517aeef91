// SPDX-License-Identifier: Apache-2.0

import Foundation
import FanoutCore
import LabNet
import Testing

extension DaemonTests {
    /// The limits are generous, because the build under test is not optimised.
    @Suite("Resources")
    struct ResourceTests {}
}

extension DaemonTests.ResourceTests {
    @Test("the daemon uses less than 120 MiB of memory and 100 descriptors with one listener")
    func start() async throws {
        let config = try ConfigText.simple(metrics: true)
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let kibibytes = try #require(try SocketTable.status("VmRSS", of: daemon.pid))
            #expect(kibibytes < 120 << 10)
            #expect(try SocketTable.descriptors(of: daemon.pid).count < 100)
        }
    }

    @Test(
        "descriptors, threads and memory do not grow over 20 reloads, refused ones included")
    func flat() async throws {
        var config = try ConfigText.simple(metrics: true)
        let holder = try HeldPort(try Ports.free(), SOCK_DGRAM)
        func other(_ number: Int, port: UInt16? = nil) throws -> ConfigText.Listener {
            ConfigText.Listener(
                name: "other \(number)", port: try port ?? Ports.free(),
                receivers: config.listeners[0].receivers)
        }
        try await DaemonUnderTest.running(config.yaml) { daemon in
            func usage() throws -> [Int] {
                [
                    try SocketTable.descriptors(of: daemon.pid).count,
                    try #require(try SocketTable.status("Threads", of: daemon.pid)),
                ]
            }
            func cycle(_ round: Int) async throws {
                var next = config
                next.listeners.append(try other(round))
                next.listeners[0].settings = ["workers: 3"]
                next.metricsPort = try Ports.free()
                try await daemon.swap(next)
                next.listeners.append(try other(round + 1, port: holder.port))
                next.listeners[0].settings = ["workers: 2"]
                next.metricsPort = try Ports.free()
                try await daemon.refuse(next)
                try await daemon.swap(config)
            }
            // The first cycle creates what is created once, such as the runtime's threads.
            try await cycle(0)
            let before = try usage()
            let memory = try #require(try SocketTable.status("VmRSS", of: daemon.pid))
            for round in 1...20 { try await cycle(round) }
            try await eventually("descriptors and threads are as before: \(before)") {
                let now = try usage()
                return now[0] <= before[0] && now[1] <= before[1] + 1
            }
            let growth = try #require(try SocketTable.status("VmRSS", of: daemon.pid)) - memory
            #expect(growth < 16 << 10, "KiB more: \(growth)")
            // With a heap for every thread there would be ten.
            #expect(try Self.heaps(of: daemon.pid) < 7)
            config.listeners[0].name = "in"
            try await daemon.stop()
        }
    }

    /// How many heaps its threads have: glibc reserves 64 MiB for each, whose end is unused.
    private static func heaps(of pid: Int32) throws -> Int {
        try String(contentsOfFile: "/proc/\(pid)/maps", encoding: .utf8).split(separator: "\n")
            .count { line in
                let range = line.prefix { $0 != " " }.split(separator: "-").compactMap {
                    UInt64($0, radix: 16)
                }
                return line.contains(" ---p ") && range.count == 2
                    && (16 << 20..<64 << 20).contains(range[1] - range[0])
            }
    }

    /// A daemon that may open `limit` descriptors, with this many receivers and one worker.
    private static func limited(
        _ limit: Int, _ config: inout ConfigText, receivers: Int, folder: ScratchFolder
    ) throws -> ChildProcess {
        config.listeners[0].receivers = (1...receivers).map {
            ConfigText.Receiver(name: "r\($0)", port: UInt16(1000 + $0))
        }
        config.settings = ["workers: 1", "max_downstream: 500"]
        let path = try folder.write(config.yaml, to: "config.yaml")
        return try ChildProcess(
            "prlimit", ["--nofile=\(limit):\(limit)", Files.daemon, "-c", path], folder: folder)
    }

    private static func hasRemedy(_ line: String) -> Bool {
        line.contains("EMFILE") && line.contains("ulimit -n, or LimitNOFILE of the unit")
    }

    @Test("too few descriptors end the start with 1 and a remedy", arguments: [24, 40, 200])
    func tooFewDescriptors(limit: Int) async throws {
        var config = try ConfigText.simple()
        let process = try Self.limited(
            limit, &config, receivers: limit, folder: try ScratchFolder())
        #expect(try await process.exit() == .exited(1))
        let said = process.record.state.errors
        #expect(Self.hasRemedy(said.last ?? ""), "\(said)")
    }

    @Test("too few descriptors for a reload are one log line, and the daemon continues")
    func tooFewDescriptorsForReload() async throws {
        var config = try ConfigText.simple(metrics: true)
        let folder = try ScratchFolder()
        let process = try Self.limited(300, &config, receivers: 150, folder: folder)
        try await process.record.wait("it runs") { state in
            state.errors.contains { $0.contains("udp-fanout is running.") } ? true : nil
        }
        let port = try #require(config.metricsPort)
        config.settings[0] = "workers: 2"
        config.metricsPort = try Ports.free()
        try folder.replace("config.yaml", with: config.yaml)
        process.send(SIGHUP)
        try await process.record.wait("the refusal") { state in
            state.errors.contains { $0.contains(DaemonUnderTest.notReloaded) && Self.hasRemedy($0) }
                ? true : nil
        }
        #expect(try await MetricsPage.scrape(port).count("workers") == 1)
        process.send(SIGTERM)
        #expect(try await process.exit() == .exited(0))
    }

    @Test("an unprivileged user can run a userspace listener")
    func unprivileged() async throws {
        let sink = try Sink()
        let config = try ConfigText.simple(receivers: [sink.endpoint.port], metrics: true)
        let folder = try ScratchFolder()
        let path = try folder.write(config.yaml, to: "config.yaml")
        let process = try DaemonTests.DemoTests.unprivileged(["-c", path], folder: folder)
        let target = Endpoint(.loopback, port: config.listeners[0].port)
        try await process.record.wait("it runs") { state in
            state.errors.contains { $0.contains("udp-fanout is running.") } ? true : nil
        }
        #expect(try SocketTable.status("Uid", of: process.pid) == 65_534)
        try Traffic(to: target).send([7])
        try await eventually("the datagram passes") { sink.count == 1 }
        process.send(SIGTERM)
        #expect(try await process.exit() == .exited(0))
        // A request that is not granted is a warning with a remedy.
        let warning = process.record.state.errors.compactMap { LogLine($0) }
            .first { $0.level == "warn" }
        #expect(warning?.message.contains("net.core.rmem_max") == true)
    }

    @Test("a privileged port is refused to an unprivileged user, with a remedy")
    func privilegedPort() async throws {
        let limit = try String(
            contentsOfFile: "/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding: .utf8)
        let first = try #require(UInt16(limit.trimmingCharacters(in: .newlines)))
        try #require(
            first > 1, "net.ipv4.ip_unprivileged_port_start is \(first): no port is privileged")
        var config = try ConfigText.simple()
        config.listeners[0].port = first - 1
        let folder = try ScratchFolder()
        let path = try folder.write(config.yaml, to: "config.yaml")
        let process = try DaemonTests.DemoTests.unprivileged(["-c", path], folder: folder)
        #expect(try await process.exit() == .exited(1))
        let said = process.record.state.errors.last ?? ""
        #expect(said.contains("EACCES") && said.contains("CAP_NET_BIND_SERVICE"), "\(said)")
    }

    /// Lowers a limit under another user: root may start any number of threads.
    private static func asUser(_ limits: [String]) -> [String] {
        ["/usr/bin/setpriv", "--reuid=23456", "--regid=23456", "--clear-groups"]
            + ["/usr/bin/prlimit"] + limits
    }

    @Test(
        "short of descriptors or threads it starts, or exits with 1 and a remedy; never by a signal",
        .enabled(if: Privilege.isRoot))
    func scarce() async throws {
        var config = try ConfigText.simple(metrics: true)
        config.settings = ["workers: 1"]
        let limits =
            [6, 8, 12, 16, 20, 24, 28, 32, 34, 36, 40, 48, 64].map { ("nofile", $0) }
            + (1...20).map { ("nproc", $0) }
        for (name, limit) in limits {
            let daemon = try DaemonUnderTest(
                config.yaml, prefix: Self.asUser(["--\(name)=\(limit):\(limit)"]))
            let isRunning = try await daemon.process.record.wait("\(name) \(limit)") { state in
                if state.ending != nil { return false }
                return state.errors.contains { $0.contains("udp-fanout is running") } ? true : nil
            }
            if isRunning {
                try await daemon.stop()
                continue
            }
            #expect(try await daemon.process.exit() == .exited(1), "\(name) \(limit)")
            let said = daemon.process.record.state.errors.joined(separator: "\n")
            #expect(
                said.contains(name == "nofile" ? "ulimit -n" : "ulimit -u"),
                "\(name) \(limit): \(said)")
        }
    }

    @Test(
        "a reload enables metrics when no thread is left", .enabled(if: Privilege.isRoot))
    func metricsWithoutThreads() async throws {
        var config = try ConfigText.simple()
        config.settings = ["workers: 1"]
        let daemon = try DaemonUnderTest(config.yaml, prefix: Self.asUser(["--nproc=100:100"]))
        try await daemon.isRunning()
        // A user may lower the limits of its own processes.
        try Namespace.command(
            "setpriv --reuid=23456 --regid=23456 --clear-groups prlimit --pid \(daemon.pid) --nproc=1:1"
        )
        let port = try Ports.free()
        config.metricsPort = port
        try await daemon.reload(config.yaml)
        #expect(try await HTTP.get("/healthz", port: port).status == 200)
        try await daemon.stop()
    }
}
