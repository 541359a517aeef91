// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import Testing
import Tiers

/// client ── router ══ three nodes, each with its own daemon. The router has a route of equal cost through each of
/// them. Nodes and receivers are connected to the router.
@Suite(
    "Several nodes behind one router", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct EqualCostTests {
    private static let flows = 5_000
    private static let virtual = Endpoint(IPAddress(v4: 0x0a63_0001), port: 5514)

    /// Subnets: 0 the client's, 1... the receivers', 11... the nodes'.
    private struct Lab {
        let router: Network
        let client: Network
        let receivers: [Network]
        let nodes: [Network]

        init() throws {
            (router, client) = (try Network(), try Network())
            receivers = try (0..<4).map { _ in try Network() }
            nodes = try (0..<3).map { _ in try Network() }
            try router.set("ipv4/ip_forward", to: "1")
            // Hash addresses and ports, as routers do for UDP.
            try router.set("ipv4/fib_multipath_hash_policy", to: "1")
            try VethLab.connect(router, "client", client, "c0", subnet: 0)
            try client.ip("route add local 10.64.0.0/12 dev lo")
            for (index, receiver) in receivers.enumerated() {
                try VethLab.connect(router, "r\(index)", receiver, "in0", subnet: index + 1)
            }
            for (index, node) in nodes.enumerated() {
                try VethLab.connect(router, "n\(index)", node, "up0", subnet: index + 11)
                try node.set("ipv4/ip_forward", to: "1")
                try node.ip("address add \(virtual.address)/32 dev lo")
            }
            try route(by: Array(nodes.indices))
        }

        /// Sets the routes, as a routing protocol does when a node appears or disappears.
        func route(by nodes: [Int]) throws {
            let hops = nodes.map { "nexthop via \(VethLab.v4($0 + 11, 2))" }
            try router.ip(
                "route replace \(virtual.address)/32 " + hops.joined(separator: " "))
        }

        func sinks() throws -> [Sink] {
            try receivers.enumerated().map { index, receiver in
                try receiver.enter { try Sink(on: VethLab.v4(index + 1, 2)) }
            }
        }
    }

    private func config(_ sinks: [Sink], _ mode: ForwardingMode) -> String {
        var lines = [
            "settings:", "  seed: 2026", "listeners:", "  - name: in",
            "    bind: \"\(Self.virtual)\"", "    mode: \(mode.rawValue)", "    interface: up0",
            "    balance: four_tuple", "    downstream:",
        ]
        if mode == .userspace { lines.removeAll { $0.contains("interface") } }
        for (index, sink) in sinks.enumerated() {
            lines += ["      - name: r\(index)", "        address: \"\(sink.endpoint)\""]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Sends one datagram of each flow; returns its receiver, and how many each node took.
    private func owners(
        _ traffic: [Traffic], at sinks: [Sink], round: UInt8
    ) async throws -> [Int: Int] {
        let before = sinks.map(\.count).reduce(0, +)
        for (flow, sender) in traffic.enumerated() {
            #expect(sender.send([round, UInt8(flow >> 8), UInt8(flow & 0xff)]))
            guard flow % 50 == 49 else { continue }
            let sent = before + UInt64(flow + 1)
            try await eventually("\(sent) arrive") { sinks.map(\.count).reduce(0, +) >= sent }
        }
        var owners: [Int: Int] = [:]
        for (index, sink) in sinks.enumerated() {
            for datagram in sink.datagrams where datagram.payload[0] == round {
                let flow = Int(datagram.payload[1]) << 8 | Int(datagram.payload[2])
                #expect(owners[flow] == nil, "twice: flow \(flow)")
                owners[flow] = index
            }
        }
        return owners
    }

    @Test(
        "a node dies and no flow changes its receiver",
        arguments: [ForwardingMode.userspace, .tcEBPF])
    func nodeDies(mode: ForwardingMode) async throws {
        let lab = try Lab()
        try await lab.router.run(ownMounts: true) {
            let sinks = try lab.sinks()
            let yaml = config(sinks, mode)
            let daemons = try lab.nodes.map { node in
                try node.enter { try DaemonUnderTest(yaml) }
            }
            for daemon in daemons { try await daemon.isRunning() }
            let traffic = try lab.client.enter {
                try (0..<Self.flows).map {
                    try Traffic(
                        to: Self.virtual, from: IPAddress(v4: 0x0a40_0000 + UInt32($0) * 37),
                        port: UInt16(1024 + $0 * 11 % 60_000))
                }
            }
            let before = try await owners(traffic, at: sinks, round: 0)
            #expect(before.count == Self.flows)
            #expect(Set(before.values) == [0, 1, 2, 3])

            await daemons[1].process.end()
            try lab.route(by: [0, 2])
            let after = try await owners(traffic, at: sinks, round: 1)
            let moved = before.filter { after[$0.key] != $0.value }
            #expect(moved.isEmpty, "\(moved.count) of \(Self.flows) flows moved")

            for daemon in [daemons[0], daemons[2]] { try await daemon.stop() }
            try await expectShares(daemons)
        }
    }

    /// Expects that each node had its share of the flows; otherwise the test shows nothing.
    private func expectShares(_ daemons: [DaemonUnderTest]) async throws {
        let survivors = [daemons[0], daemons[2]].map { daemon in
            daemon.log.first { $0.message == "listener totals" }
                .flatMap { $0.fields["received"] }.flatMap { Int($0) } ?? 0
        }
        // About a third each of the first round and half of the second.
        for count in survivors {
            #expect(count > Self.flows / 2 && count < Self.flows * 6 / 5, "\(survivors)")
        }
        // In the second round the survivors also have the dead node's share.
        let total = survivors.reduce(0, +)
        #expect(total > Self.flows * 3 / 2 && total < Self.flows * 37 / 20, "\(survivors)")
    }
}
