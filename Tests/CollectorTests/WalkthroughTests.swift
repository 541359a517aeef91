// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing

extension CollectorTests {
    @Suite("A first walk")
    struct WalkthroughTests {}
}

/// The output of bpftool(8).
func bpftool(_ words: String) async throws -> String {
    let process = try ChildProcess("bpftool", words.split(separator: " ").map(String.init))
    #expect(try await process.exit() == .exited(0), "\(words): \(process.record.state.errors)")
    return process.record.state.output.joined(separator: "\n")
}

extension CollectorTests.WalkthroughTests {
    private static let home = IPAddress(v4: 0x0a00_020f)  // 10.0.2.15

    /// A host with 10.0.2.15, as a virtual machine has it, and neighbours 10.0.2.16 to 10.0.2.63.
    private static func onThatHost(_ body: @Sendable () async throws -> Void) async throws {
        try await Namespace.withOwnMounts(
            ["link set lo up", "addr add 10.0.2.15/24 dev lo"], body)
    }

    private static func collectors(
        program: CollectorUnderTest.Program = .own
    ) async throws -> [CollectorUnderTest] {
        var collectors: [CollectorUnderTest] = []
        for index in 0..<3 {
            let words = "10.0.2.15 10001 \(index) 3".split(separator: " ").map(String.init)
            collectors.append(try CollectorUnderTest(words, program: program))
        }
        for collector in collectors { try await collector.isInSlot() }
        return collectors
    }

    /// Each publisher sends three datagrams from its own address.
    private static func publish() throws {
        for number in 0..<48 as Range<UInt32> {
            let publisher = try Traffic(
                to: Endpoint(home, port: 10_001), from: IPAddress(v4: home.v4 + 1 + number))
            for round in 1...3 { publisher.send(Array("Hello World \(round)!".utf8)) }
        }
    }

    /// Expects that one collector got all datagrams of each publisher in order, and that no collector is idle.
    private static func checkHeard(_ collectors: [CollectorUnderTest]) async throws {
        try await eventually("everything is printed") {
            collectors.map(\.output.count).reduce(0, +) >= 144
        }
        var heard: [String: [Int: [String]]] = [:]
        for (index, collector) in collectors.enumerated() {
            #expect(!collector.output.isEmpty)
            for line in collector.output {
                let match = try #require(line.wholeMatch(of: /(10\.0\.2\.\d+):\d+ (.*)/), "\(line)")
                heard[String(match.output.1), default: [:]][index, default: []].append(
                    String(match.output.2))
            }
        }
        #expect(heard.count == 48)
        for (publisher, collectors) in heard {
            #expect(
                Array(collectors.values) == [(1...3).map { "Hello World \($0)!" }], "\(publisher)")
        }
    }

    @Test("three collectors as root, publishers from many addresses, and bpftool by name")
    func root() async throws {
        try await Self.onThatHost {
            let collectors = try await Self.collectors()
            try Self.publish()
            try await Self.checkHeard(collectors)

            // This namespace had no default pin root, so the collector mounted it.
            let pins = "/sys/fs/bpf/collector-10-0-2-15-10001"
            let pinned = try await bpftool("map dump pinned \(pins)/udp_balancing_targets")
            let members = pinned.matches(of: /"value": \d+/).map { String($0.output) }
            #expect(members.count == 3)
            let named = try await bpftool("map dump name udp_balancing_t")
            for member in members { #expect(named.contains(member)) }
            let streams = try await bpftool("map dump name tcp_balancing_t")
            #expect(streams.contains("key: 00 00 00 00  value: <no entry>"))
            #expect(try await bpftool("map dump pinned \(pins)/size").contains("\"value\": 3"))

            for collector in collectors { try await collector.stop(SIGINT) }
            let run = try await CollectorUnderTest.run(["destroy", "collector-10-0-2-15-10001"])
            #expect(run.code == 0)
            let status = try await CollectorUnderTest.run(["status"])
            #expect(status.output == ["no groups below /sys/fs/bpf"])
        }
    }

    @Test("the same with an unprivileged user's collectors, after root created the group")
    func unprivileged() async throws {
        let program = try CollectorUnderTest.Program.asNobody()
        try await Self.onThatHost {
            let made = try await CollectorUnderTest.run(
                ["create", "collector-10-0-2-15-10001", "--count", "3", "--owner", "65534"])
            #expect(made.code == 0)
            #expect(
                made.output == [
                    "group collector-10-0-2-15-10001 below /sys/fs/bpf: 3 slots, source_ip, seed 0"
                ])
            #expect(made.errors == [])
            let collectors = try await Self.collectors(program: program)
            try Self.publish()
            try await Self.checkHeard(collectors)

            let status = try await CollectorUnderTest.run(
                ["status", "collector-10-0-2-15-10001"], program: program)
            #expect(status.code == 0, "\(status.errors)")
            try #require(status.output.count == 5)
            #expect(
                status.output[0].hasPrefix(
                    "group collector-10-0-2-15-10001 at 10.0.2.15:10001: source_ip, seed 0, 3 slots"
                ))
            for (slot, collector) in collectors.enumerated() {
                let pattern = try Regex("  \(slot) +udp +\(collector.process.pid) +65534 .*")
                #expect(status.output[2 + slot].wholeMatch(of: pattern) != nil, "\(status.output)")
                try await collector.stop()
            }
        }
    }
}
