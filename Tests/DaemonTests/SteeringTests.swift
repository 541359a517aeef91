// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import LinuxNet
import Testing
import Tiers

extension DaemonTests {
    /// Four workers, 64 sources with one sequence each from 4 ports, one receiver.
    @Suite("Workers that are steered by source", .tags(.load), .timeLimit(.minutes(1)))
    struct SteeringTests {
        static let workers = ["workers: 4", "recv_buf_size: 8388608"]

        static func config(_ sink: Sink, settings: [String] = workers) throws -> ConfigText {
            var config = try ConfigText.simple(receivers: [sink.endpoint.port])
            config.settings = settings
            return config
        }

        static func load(
            _ config: ConfigText, rate: Int = 50_000, total: UInt64? = nil
        ) throws -> Load {
            let target = Endpoint(.loopback, port: config.listeners[0].port)
            let sources = try (0..<64 as Range<UInt32>).flatMap { number in
                try (0..<4).map { _ in
                    try Traffic(to: target, from: .loopback(0x3_0000 + number))
                }
            }
            return try Load(sources, sharing: 4, rate: rate, total: total, sizes: [64, 64, 500])
        }

        /// What arrived of the load in `report`, and how many datagrams the kernel dropped at the listener.
        static func outcome(
            of report: LoadReport, at sink: Sink, _ daemon: DaemonUnderTest
        ) async throws -> (delivery: Delivery, dropped: UInt64) {
            // A lost datagram never arrives; the numbers below then show which one it was.
            try? await eventually(within: .seconds(3), "all arrive") {
                sink.arrivals >= report.datagrams
            }
            try await daemon.stop()
            let totals = daemon.log.last { $0.message == "listener totals" }
            let dropped = try #require(totals?.fields["kernel_drops"].flatMap { UInt64($0) })
            return (Delivery(of: report, at: [sink]), dropped)
        }

        static func started(_ daemon: DaemonUnderTest) -> [String: String] {
            daemon.log.last { $0.message == "starting userspace forwarder" }?.fields ?? [:]
        }
    }
}

extension DaemonUnderTest {
    /// The same for an unprivileged user.
    init(unprivileged config: String) throws {
        folder = try ScratchFolder()
        let path = try folder.write(config, to: Self.configName)
        process = try DaemonTests.DemoTests.unprivileged(["--config", path], folder: folder)
    }
}

extension DaemonTests.SteeringTests {
    @Test("keep each source's order at 50 000 datagrams a second and lose none")
    func ordered() async throws {
        let sink = try Sink(keepsPayloads: false)
        let config = try Self.config(sink)
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let fields = Self.started(daemon)
            let by = Privilege.isRoot ? "ebpf" : "cbpf"
            #expect(fields["steer"] == "source_ip" && fields["by"] == by, "\(fields)")
            let report = try await Self.load(config, total: 200_000).finish()
            let (delivery, dropped) = try await Self.outcome(of: report, at: sink, daemon)
            #expect(delivery.isExact() && delivery.lost == 0 && dropped == 0, "\(delivery)")
        }
    }

    @Test(
        "do so for an unprivileged user", .enabled(if: Privilege.isRoot, "needs root"))
    func unprivileged() async throws {
        let sink = try Sink(keepsPayloads: false)
        // A buffer that the kernel grants any user, so that there is no warning.
        let config = try Self.config(sink, settings: ["workers: 4"])
        let daemon = try DaemonUnderTest(unprivileged: config.yaml)
        try await daemon.isRunning()
        #expect(Self.started(daemon)["by"] == "cbpf")
        #expect(daemon.log.allSatisfy { $0.level == "info" }, "\(daemon.log)")
        let report = try await Self.load(config, total: 100_000).finish()
        let (delivery, dropped) = try await Self.outcome(of: report, at: sink, daemon)
        // The default buffer may overflow on a busy machine; the order must still be kept.
        #expect(delivery.isExact(droppedAtListener: dropped), "\(delivery), \(dropped) dropped")
    }

    @Test("are chosen by the kernel with steer: kernel, which does not keep a source's order")
    func kernel() async throws {
        let sink = try Sink(keepsPayloads: false)
        let config = try Self.config(sink, settings: Self.workers + ["steer: kernel"])
        try await DaemonUnderTest.running(config.yaml) { daemon in
            let fields = Self.started(daemon)
            #expect(fields["steer"] == "kernel" && fields["by"] == "kernel", "\(fields)")
            let report = try await Self.load(config, total: 100_000).finish()
            let (delivery, dropped) = try await Self.outcome(of: report, at: sink, daemon)
            #expect(delivery.disorders > 0, "the tests above would not notice disorder")
            #expect(delivery.lost == dropped, "\(delivery)")
        }
    }

    /// The voluntary context switches of each worker, by the only CPU that it may use.
    private static func switches(of pid: Int32) throws -> [Int: Int] {
        var switches: [Int: Int] = [:]
        for task in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task") {
            let status = try String(
                contentsOfFile: "/proc/\(pid)/task/\(task)/status", encoding: .utf8)
            guard status.hasPrefix("Name:\tfanout-") else { continue }
            let match = try #require(
                status.firstMatch(
                    of: /(?s)Cpus_allowed_list:\t(\d+)\n.*\nvoluntary_ctxt_switches:\t(\d+)/),
                "\(status)")
            let cpu = try #require(Int(match.output.1))
            switches[cpu] = Int(match.output.2)
        }
        return switches
    }

    @Test(
        "are chosen by the packet's CPU with steer: cpu, and run on that CPU",
        arguments: [true, false])
    func cpu(isPrivileged: Bool) async throws {
        let cpus = Array(CPUAffinity.allowed.prefix(2))
        try #require(Set(cpus.map { $0 % 2 }).count == 2)
        let sink = try Sink()
        let config = try Self.config(sink, settings: ["workers: 2", "steer: cpu"])
        let daemon =
            try isPrivileged && Privilege.isRoot
            ? DaemonUnderTest(config.yaml) : DaemonUnderTest(unprivileged: config.yaml)
        try await daemon.isRunning()
        let fields = Self.started(daemon)
        let by = isPrivileged && Privilege.isRoot ? "ebpf" : "cbpf"
        #expect(fields["steer"] == "cpu" && fields["by"] == by, "\(fields)")
        let target = Endpoint(.loopback, port: config.listeners[0].port)
        let rounds = 20
        var workers: [Set<UInt16>] = []
        for cpu in cpus {
            let before = try Self.switches(of: daemon.process.pid)
            #expect(Set(before.keys) == Set(cpus))
            let start = sink.datagrams.count
            for round in 0..<rounds {
                // Over loopback a datagram stays on the CPU that sends it.
                try LinuxNet.Thread(name: "sender") {
                    try? CPUAffinity.pinCurrentThread(to: cpu)
                    _ = try? Traffic(to: target, from: .loopback(0x3_0000 + UInt32(round))).send([1]
                    )
                }.join()
                try await eventually("it arrives") { sink.datagrams.count == start + round + 1 }
            }
            workers.append(Set(sink.datagrams[start...].map(\.source.port)))
            let after = try Self.switches(of: daemon.process.pid)
            for (other, count) in after {
                let wakes = count - (before[other] ?? 0)
                #expect(other == cpu ? wakes >= rounds : wakes < rounds, "CPU \(other): \(wakes)")
            }
        }
        #expect(workers.allSatisfy { $0.count == 1 } && workers[0] != workers[1], "\(workers)")
        try await daemon.stop()
    }

    @Test("change in number and steering under load without loss, 20 times")
    func changed() async throws {
        let sink = try Sink(keepsPayloads: false)
        let config = try Self.config(sink)
        let steps = [
            ["workers: 2"], ["workers: 4"], ["workers: 1"], ["workers: 3"],
            ["workers: 3", "steer: kernel"], ["workers: 4"],
        ]
        let outcome = try await DaemonUnderTest.underLoad(config, sinks: [sink]) { daemon, load in
            let more = try Self.load(config, rate: 20_000)
            for round in 0..<20 {
                var next = config
                next.listeners[0].settings = steps[round % steps.count]
                try await daemon.swap(next)
                try await load.pass(300)
            }
            let report = await more.stop()
            #expect(report.refusals == 0 && report.errors == [:])
            try await eventually("all of it arrives") {
                Delivery(of: report, at: [sink]).arrived + sink.kernelDrops >= report.datagrams
            }
            #expect(Delivery(of: report, at: [sink]).duplicates == 0)
        }
        outcome.expectNoLoss()
    }
}
