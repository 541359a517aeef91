// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing

@Suite("A listener that one of another mode succeeds")
struct SuccessionTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let before: [Listener]
        let after: [Listener]
        var kept: [Listener] = []
    }

    private static func listener(
        _ name: String, _ mode: ForwardingMode, port: UInt16 = 514, on interface: String = "eth0",
        server: UInt32 = 1
    ) -> Listener {
        var listener = Listener(
            name: name, bind: Endpoint(IPAddress(v4: 0x7f00_0001), port: port), mode: mode,
            downstreams: [
                Downstream(name: "d", endpoint: Endpoint(IPAddress(v4: server), port: 1000))
            ])
        listener.interface = interface
        return listener
    }

    private static let rows: [Row] = [
        Row(
            testDescription: "of its name: stays", before: [listener("a", .userspace)],
            after: [listener("a", .tcEBPF)], kept: [listener("a", .userspace)]),
        Row(
            testDescription: "of its port: stays",
            before: [listener("a", .tcEBPF), listener("b", .userspace, port: 515)],
            after: [listener("c", .userspace), listener("b", .userspace, port: 515)],
            kept: [listener("a", .tcEBPF)]),
        Row(
            testDescription: "of another port: goes", before: [listener("a", .tcEBPF)],
            after: [listener("a", .userspace, port: 515)]),
        Row(
            testDescription: "none: goes",
            before: [listener("a", .tcEBPF), listener("b", .userspace)],
            after: [listener("b", .userspace)]),
        Row(
            testDescription: "which was there before: goes",
            before: [listener("a", .tcEBPF), listener("b", .userspace)],
            after: [listener("b", .userspace, server: 7)]),
        Row(
            testDescription: "and one of its own mode at the port: goes",
            before: [listener("a", .tcEBPF)],
            after: [listener("b", .tcEBPF, on: "eth1"), listener("c", .userspace)]),
        Row(
            testDescription: "with the same XDP hook: goes", before: [listener("a", .xdpNAT)],
            after: [listener("a", .afXDP)]),
        Row(
            testDescription: "with an XDP hook elsewhere: stays", before: [listener("a", .xdpNAT)],
            after: [listener("a", .afXDP, on: "eth1")], kept: [listener("a", .xdpNAT)]),
        Row(
            testDescription: "and whose server another of xdp_nat has then: goes",
            before: [listener("a", .xdpNAT), listener("b", .xdpNAT, port: 515, server: 7)],
            after: [listener("a", .userspace), listener("b", .xdpNAT, port: 515)]),
    ]

    @Test("stays until that has come, where both can be", arguments: rows)
    func both(row: Row) {
        let after = DesiredState(listeners: row.after)
        let both = after.besideSucceeded(of: DesiredState(listeners: row.before))
        #expect(both == DesiredState(listeners: row.after + row.kept))
    }
}
