// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import Testing
import Tiers

/// The same receivers behind listeners of different modes in one daemon.
@Suite(
    "Modes side by side", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct DifferentialTests {
    private static let weights: [UInt16] = [1, 1, 2, 0, 4]
    private static let ways = [
        ["mode: userspace"], ["mode: userspace", "preserve_source: true"],
        ["mode: tc_ebpf", "interface: lb0"], ["mode: af_xdp", "interface: lb0"],
    ]

    private static let cases = [
        (IPAddress.Family.v4, UInt64(0)), (.v6, 0), (.v4, 0x5eed), (.v6, 0x5eed),
    ]

    private static func listeningPort(_ way: Int) -> UInt16 { 5514 + UInt16(way) }

    private func config(_ sinks: [Sink], _ family: IPAddress.Family, seed: UInt64) -> String {
        var lines = ["settings:", "  seed: \(seed)", "listeners:"]
        for (way, words) in Self.ways.enumerated() {
            let bind = Endpoint(VethLab.address(family, 0, 1), port: Self.listeningPort(way))
            lines += ["  - name: way-\(way)", "    bind: \"\(bind)\"", "    balance: source_ip"]
            lines += words.map { "    " + $0 } + ["    downstream:"]
            for (index, sink) in sinks.enumerated() {
                lines += [
                    "      - name: r\(index)", "        address: \"\(sink.endpoint)\"",
                    "        weight: \(Self.weights[index])",
                ]
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Not consecutive, so that every byte of the address matters.
    private func source(_ number: Int, _ family: IPAddress.Family) -> IPAddress {
        let mixed = UInt64(number) &* 0x9e37_79b9_7f4a_7c15
        return family == .v4
            ? IPAddress(v4: 0x0a40_0000 | UInt32(number) << 6 | UInt32(mixed >> 58))
            : IPAddress(high: 0x2001_0db8_0000_0000 | mixed >> 32, low: mixed &* 3)
    }

    @Test(
        "userspace, with its own or the client's source, tc_ebpf and af_xdp forward 1 000 sources to the same receivers",
        arguments: cases)
    func sameReceiver(family: IPAddress.Family, seed: UInt64) async throws {
        try await compare(1000, family, seed: seed)
    }

    @Test(
        "all modes forward 10 000 sources to the same receivers", .tags(.exhaustive),
        arguments: cases)
    func sameReceiverOfMany(family: IPAddress.Family, seed: UInt64) async throws {
        try await compare(10_000, family, seed: seed)
    }

    private func compare(_ sources: Int, _ family: IPAddress.Family, seed: UInt64) async throws {
        let lab = try VethLab(receivers: Self.weights.count)
        try lab.client.ip("route add local 10.64.0.0/12 dev lo")
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.receivers.enumerated().map { index, receiver in
                try receiver.enter { try Sink(on: VethLab.address(family, index + 1, 2)) }
            }
            try await DaemonUnderTest.running(config(sinks, family, seed: seed)) { daemon in
                for number in 0..<sources {
                    for way in Self.ways.indices {
                        try send(number, way, family, lab)
                    }
                    // A socket's default buffer is small.
                    guard number % 50 == 49 else { continue }
                    let sent = UInt64((number + 1) * Self.ways.count)
                    try await eventually("\(sent) datagrams arrive") {
                        sinks.map(\.count).reduce(0, +) >= sent
                    }
                }
                try await daemon.stop()
            }
            try check(sinks, sources, family, seed: seed)
        }
    }

    private func send(
        _ number: Int, _ way: Int, _ family: IPAddress.Family, _ lab: VethLab
    ) throws {
        let target = Endpoint(VethLab.address(family, 0, 1), port: Self.listeningPort(way))
        let traffic = try lab.client.enter { try Traffic(to: target, from: source(number, family)) }
        let isSent = traffic.send(
            [UInt8(way), UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)])
        try #require(isSent, "source \(number)")
    }

    private func check(
        _ sinks: [Sink], _ sources: Int, _ family: IPAddress.Family, seed: UInt64
    ) throws {
        let downstreams = sinks.enumerated().map {
            Downstream(
                name: "r\($0)", endpoint: $1.endpoint, weight: Self.weights[$0])
        }
        let table = Balance.sourceIP.slotTable(for: downstreams, capacity: 64)
        // The receiver of the datagram, by way and source.
        var owners = [[Int?]](
            repeating: Array(repeating: nil, count: sources), count: Self.ways.count)
        var altered = 0
        for (index, sink) in sinks.enumerated() {
            for datagram in sink.datagrams {
                let way = Int(datagram.payload[0])
                let number = Int(datagram.payload[1]) << 8 | Int(datagram.payload[2])
                #expect(owners[way][number] == nil, "twice: \(datagram)")
                owners[way][number] = index
                if way > 0, datagram.source.address != source(number, family) { altered += 1 }
            }
        }
        let wanted = (0..<sources).map {
            table.owner(of: FlowKey.sourceIP(source($0, family), seed: seed))
        }
        for way in Self.ways.indices {
            let others = wanted.indices.filter { owners[way][$0] != wanted[$0] }
            #expect(others == [], "\(Self.ways[way]): \(others.count) sources")
        }
        #expect(altered == 0, "source addresses were not preserved")
        #expect(Set(wanted) == [0, 1, 2, 4])
    }
}
