// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import Testing
import Tiers

/// Failures of daemons in mode tc_ebpf, and what they leave behind (docs/failure-modes.md).
@Suite(
    "Failures of mode tc_ebpf", .tags(.load), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct TCFailureTests {
    /// A map as `bpftool -j map show` prints it.
    private struct Map: Decodable {
        let name: String?
        let bytes_value: Int?
    }

    /// The listener tables with room for this many receivers, of all programs on this machine. Programs keep their
    /// maps, and hooks and links keep their programs.
    private func tables(room: Int) throws -> Int {
        let bytes = 64 + 56 * room + 2 * MaglevTable.size(capacity: room)
        let shown = try Shell.output("bpftool -j map show")
        return try JSONDecoder().decode([Map].self, from: Data(shown.utf8))
            .count { $0.name == "lb_table" && $0.bytes_value == bytes }
    }

    private func descriptors(of pid: pid_t) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
    }

    @Test(
        "over kill -9 and restarts nothing grows: objects, pins, filters, descriptors",
        arguments: ["tcx", "clsact"])
    func killed(attach: String) async throws { try await kill(5, attach: attach) }

    @Test(
        "over kill -9 and 50 restarts nothing grows", .tags(.exhaustive),
        arguments: ["tcx", "clsact"])
    func killedOften(attach: String) async throws { try await kill(50, attach: attach) }

    private func kill(_ rounds: Int, attach: String) async throws {
        let lab = try VethLab()
        // No other program on this machine has tables of this size.
        let room = Int.random(in: 400...1000)
        try await lab.balancer.run(ownMounts: true) {
            let before = try VethLab.state()
            let receivers = try lab.sinks().map(\.endpoint)
            let yaml = VethLab.config(
                receivers, attach: attach, settings: "max_downstream: \(room)")
            var first: (state: [String], tables: Int, descriptors: Int)?
            for round in 1...rounds {
                let daemon = try DaemonUnderTest(yaml)
                try await daemon.isRunning()
                if round == 2 {
                    first = try (
                        VethLab.state(), tables(room: room), descriptors(of: daemon.pid)
                    )
                }
                if round == rounds, let first {
                    #expect(first.tables > 0)
                    try await eventually("no more tables than \(first.tables)") {
                        try tables(room: room) <= first.tables
                    }
                    #expect(try descriptors(of: daemon.pid) == first.descriptors)
                    let now = try VethLab.state()
                    #expect(
                        now.map(Self.withoutNumbers) == first.state.map(Self.withoutNumbers))
                    try await daemon.stop()
                } else {
                    await daemon.process.end()
                }
            }
            #expect(try VethLab.state() == before)
            try await eventually("no table is left") { try tables(room: room) == 0 }
        }
    }

    /// Removes the program's number and tag from the line of a filter and from its mark.
    private static func withoutNumbers(_ text: String) -> String {
        text.replacing(#/:\[\d+\]| id \d+| tag \w+|filter-\d+/#, with: "")
    }

    @Test("a second daemon is refused with the reason, and no datagram is affected")
    func doubleStart() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let (sinks, spare) = (try lab.sinks(), try lab.sinks())
            try await DaemonUnderTest.running(VethLab.config(sinks.map(\.endpoint))) { daemon in
                let load = try Load([lab.traffic()], rate: 20_000)
                try await load.pass(2000)
                for _ in 0..<3 {
                    let second = try DaemonUnderTest(VethLab.config(spare.map(\.endpoint)))
                    #expect(try await second.process.exit() == .exited(1))
                    let said = second.process.record.state.errors.joined(separator: "\n")
                    #expect(said.contains("another process holds it"), "\(said)")
                    #expect(said.contains("stop the other udp-fanout on this interface"))
                }
                try await load.pass(2000)
                let report = await load.stop()
                try await eventually("all arrive") { sinks.arrivals == report.datagrams }
                let delivery = Delivery(of: report, at: sinks)
                #expect(delivery.isExact(), "\(delivery)")
                #expect(spare.arrivals == 0)
                try await daemon.stop()
            }
        }
    }

    @Test(
        "two daemons that send to each other: a datagram loops until its TTL expires, and is counted"
    )
    func ring() async throws {
        let lab = try VethLab(receivers: 1)
        try await lab.balancer.run(ownMounts: true) {
            let here = Endpoint(VethLab.v4(1, 1), port: VethLab.port)
            let there = Endpoint(VethLab.v4(1, 2), port: VethLab.port)
            func listener(_ name: String, _ bind: Endpoint, _ interface: String, to: Endpoint)
                -> String
            {
                """
                  - {name: \(name), bind: "\(bind)", mode: tc_ebpf, interface: \(interface),
                     downstream: [{name: next, address: "\(to)"}]}

                """
            }
            let entry = Endpoint(VethLab.v4(0, 1), port: VethLab.port)
            let metrics = "metrics: {enabled: true, bind: \"127.0.0.1:9090\"}\n"
            let near = try DaemonUnderTest(
                "listeners:\n" + listener("entry", entry, "lb0", to: there)
                    + listener("back", here, "out0", to: there) + metrics)
            let far = try lab.receivers[0].enter {
                try DaemonUnderTest(
                    "listeners:\n" + listener("far", there, "in0", to: here) + metrics)
            }
            for daemon in [near, far] { try await daemon.isRunning() }
            try lab.traffic().send([1, 2, 3])
            // The client's TTL is 64, and each listener decrements it until the last finds 1.
            try await eventually("it has expired") {
                let pages = try [lab.balancer, lab.receivers[0]].map { network in
                    try network.enter {
                        try MetricsPage(Shell.output("curl -s http://127.0.0.1:9090/metrics"))
                    }
                }
                return pages.map { $0.count("packets_dropped_total") }.reduce(0, +) == 1
            }
            var totals: [String: [String: String]] = [:]
            for daemon in [near, far] {
                try await daemon.stop()
                for line in daemon.log where line.message == "listener totals" {
                    totals[line.fields["listener"] ?? ""] = line.fields
                }
            }
            func sum(_ field: String) -> Int {
                totals.values.reduce(0) { $0 + (Int($1[field] ?? "") ?? 0) }
            }
            #expect(totals["entry"]?["received"] == "1")
            #expect(sum("received") == 64, "\(totals)")
            #expect(sum("forwarded") == 63)
            #expect(sum("dropped_ttl_expired") == 1)
        }
    }

    @Test("what a killed daemon left is removed when the next one serves the address in userspace")
    func otherMode() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let before = try VethLab.state()
            let sinks = try lab.sinks()
            let yaml = VethLab.config([sinks[0].endpoint])
            let killed = try DaemonUnderTest(yaml)
            try await killed.isRunning()
            await killed.process.end()
            let next = VethLab.config([sinks[1].endpoint])
                .replacing("    mode: tc_ebpf\n    interface: lb0\n", with: "")
            try await DaemonUnderTest.running(next) { daemon in
                let line = try await daemon.logs(
                    "removed the program that an old daemon had left")
                #expect(line.fields["interface"] == "lb0")
                #expect(try VethLab.state() == before)
                try lab.traffic().send([UInt8](repeating: 0, count: 64))
                try await eventually("the new receiver has it") { sinks[1].arrivals == 1 }
                #expect(sinks[0].arrivals == 0)
                try await daemon.stop()
            }
        }
    }

    @Test("a listener that is its own receiver is refused with its line, by check and by a start")
    func ownReceiver() async throws {
        let own = Endpoint(VethLab.v4(0, 1), port: VethLab.port)
        let folder = try ScratchFolder()
        let path = try folder.write(VethLab.config([own]), to: DaemonUnderTest.configName)
        for words in [["check", "--config", path], ["--config", path]] {
            let run = try await DaemonUnderTest.run(words)
            #expect(run.code == 1)
            let said = run.output + run.errors.joined(separator: "\n")
            #expect(said.contains(":8:"), "\(said)")
            #expect(said.contains("\(own) is this listener itself"), "\(said)")
        }
    }

    @Test("two hooks on one interface are refused with the line, by check and by a start")
    func twoHooks() async throws {
        let yaml = """
            listeners:
              - {name: a, bind: "10.8.0.1:1", mode: tc_ebpf, interface: lb0,
                 settings: {tc_attach: tcx}, downstream: [{name: r, address: "10.8.1.2:1"}]}
              - {name: b, bind: "10.8.0.1:2", mode: tc_ebpf, interface: lb0,
                 settings: {tc_attach: clsact}, downstream: [{name: r, address: "10.8.1.2:1"}]}

            """
        let folder = try ScratchFolder()
        let path = try folder.write(yaml, to: DaemonUnderTest.configName)
        for words in [["check", "--config", path], ["--config", path]] {
            let run = try await DaemonUnderTest.run(words)
            #expect(run.code == 1)
            let said = run.output + run.errors.joined(separator: "\n")
            #expect(said.contains(":5:"), "\(said)")
            #expect(said.contains("tc_attach is clsact here and tcx for listener 'a'"), "\(said)")
        }
    }
}
