// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("A listener that one of another mode succeeds", .tags(.unit))
struct MakeBeforeBreakTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let before: [Listener]
        let after: [Listener]
        /// The states in between.
        var steps: [[Listener]] = []

        init(
            _ testDescription: String, before: [Listener], after: [Listener],
            steps: [[Listener]] = []
        ) {
            self.testDescription = testDescription
            self.before = before
            self.after = after
            self.steps = steps
        }
    }

    private static func listener(
        _ name: String, _ mode: ForwardingMode, port: UInt16 = 514, and further: [UInt16] = [],
        at address: UInt32 = 0x7f00_0001, on interface: String = "eth0", server: UInt32 = 1
    ) -> Listener {
        var listener = Listener(
            name: name, bind: Endpoint(IPAddress(v4: address), port: port), mode: mode,
            downstreams: [
                Downstream(name: "d", endpoint: Endpoint(IPAddress(v4: server), port: 1000))
            ])
        listener.interface = interface
        listener.nat.furtherPorts = further
        return listener
    }

    private static let rows: [Row] = [
        Row(
            "of its name: stays", before: [listener("a", .userspace)],
            after: [listener("a", .tcEBPF)],
            steps: [[listener("a", .tcEBPF), listener("a", .userspace)]]),
        Row(
            "of its port: stays",
            before: [listener("a", .tcEBPF), listener("b", .userspace, port: 515)],
            after: [listener("c", .userspace), listener("b", .userspace, port: 515)],
            steps: [
                [
                    listener("c", .userspace), listener("b", .userspace, port: 515),
                    listener("a", .tcEBPF),
                ]
            ]),
        Row(
            "of another port: goes", before: [listener("a", .tcEBPF)],
            after: [listener("a", .userspace, port: 515)]),
        Row(
            "none: goes", before: [listener("a", .tcEBPF), listener("b", .userspace)],
            after: [listener("b", .userspace)]),
        Row(
            "which was there before: goes",
            before: [listener("a", .tcEBPF), listener("b", .userspace)],
            after: [listener("b", .userspace, server: 7)]),
        Row(
            "which comes there from another port: stays",
            before: [listener("a", .tcEBPF), listener("b", .userspace, port: 515)],
            after: [listener("b", .userspace)],
            steps: [[listener("b", .userspace), listener("a", .tcEBPF)]]),
        Row(
            "at the port that it leaves for another: stays as it was",
            before: [listener("a", .userspace, server: 7)],
            after: [listener("a", .userspace, port: 515), listener("b", .tcEBPF)],
            steps: [[listener("b", .tcEBPF), listener("a", .userspace, server: 7)]]),
        Row(
            "at one of its ports: stays with all",
            before: [listener("a", .xdpNAT, and: [515, 516])],
            after: [listener("a", .xdpNAT, and: [515]), listener("b", .tcEBPF, port: 516)],
            steps: [[listener("b", .tcEBPF, port: 516), listener("a", .xdpNAT, and: [515, 516])]]),
        Row(
            "and succeeds another itself: one after the other",
            before: [listener("a", .userspace), listener("b", .tcEBPF, port: 515)],
            after: [listener("a", .userspace, port: 515), listener("c", .tcEBPF)],
            steps: [
                [
                    listener("c", .tcEBPF), listener("a", .userspace),
                    listener("b", .tcEBPF, port: 515),
                ],
                [
                    listener("a", .userspace, port: 515), listener("c", .tcEBPF),
                    listener("b", .tcEBPF, port: 515),
                ],
            ]),
        Row(
            "and which it succeeds: both go",
            before: [listener("a", .userspace), listener("b", .tcEBPF, port: 515)],
            after: [listener("a", .userspace, port: 515), listener("b", .tcEBPF)]),
        Row(
            "and one of its own mode at the port: goes", before: [listener("a", .tcEBPF)],
            after: [listener("b", .tcEBPF, on: "eth1"), listener("c", .userspace)]),
        Row(
            "and one of its own mode at another address: stays",
            before: [listener("a", .tcEBPF)],
            after: [listener("b", .tcEBPF, at: 2), listener("c", .userspace)],
            steps: [
                [listener("b", .tcEBPF, at: 2), listener("c", .userspace), listener("a", .tcEBPF)]
            ]),
        Row(
            "which comes there from another address: stays",
            before: [listener("a", .tcEBPF), listener("b", .userspace, at: 2)],
            after: [listener("b", .userspace)],
            steps: [[listener("b", .userspace), listener("a", .tcEBPF)]]),
        Row(
            "at another address: goes", before: [listener("a", .tcEBPF)],
            after: [listener("a", .userspace, at: 2)]),
        Row(
            "at every address: stays", before: [listener("a", .tcEBPF)],
            after: [listener("a", .userspace, at: 0)],
            steps: [[listener("a", .userspace, at: 0), listener("a", .tcEBPF)]]),
        Row(
            "and whose XDP hook a third one wants: goes",
            before: [listener("a", .afXDP), listener("b", .afXDP, port: 515)],
            after: [listener("a", .userspace), listener("c", .xdpNAT, port: 600, server: 7)]),
        Row(
            "with the same XDP hook: goes", before: [listener("a", .xdpNAT)],
            after: [listener("a", .afXDP)]),
        Row(
            "with an XDP hook elsewhere: stays", before: [listener("a", .xdpNAT)],
            after: [listener("a", .afXDP, on: "eth1")],
            steps: [[listener("a", .afXDP, on: "eth1"), listener("a", .xdpNAT)]]),
        Row(
            "and whose server another of xdp_nat has then: goes",
            before: [listener("a", .xdpNAT), listener("b", .xdpNAT, port: 515, server: 7)],
            after: [listener("a", .userspace), listener("b", .xdpNAT, port: 515)]),
    ]

    @Test("stays until that has come, where both can be", arguments: rows)
    func steps(row: Row) {
        let after = DesiredState(listeners: row.after)
        let steps = after.steps(from: DesiredState(listeners: row.before))
        #expect(steps == row.steps.map(DesiredState.init) + [after])
    }

    @Test("goes before that has come where both cannot be, or ports are exchanged")
    func gaps() {
        func state(_ listeners: Listener...) -> DesiredState { DesiredState(listeners: listeners) }
        let (a, b) = (Self.listener("a", .userspace), Self.listener("b", .tcEBPF, port: 515))
        let exchanged = state(
            Self.listener("a", .userspace, port: 515), Self.listener("b", .tcEBPF))
        #expect(exchanged.leavingEarly(from: state(a, b)) == [a, b])
        let steered = state(Self.listener("a", .afXDP))
        let nat = Self.listener("a", .xdpNAT)
        #expect(steered.leavingEarly(from: state(nat)) == [nat])
        let both = state(Self.listener("a", .tcEBPF), a)
        #expect(both.leavingEarly(from: state(a)).isEmpty)
        #expect(state(Self.listener("a", .tcEBPF)).leavingEarly(from: both).isEmpty)
        #expect(DesiredState().leavingEarly(from: both).isEmpty)
    }

    @Test("yields an XDP hook to another mode of the same interface, and no other")
    func hooks() {
        let before = DesiredState(listeners: [
            Self.listener("a", .xdpNAT), Self.listener("b", .afXDP, on: "eth1"),
            Self.listener("c", .tcEBPF, on: "eth2"),
        ])
        #expect(before.modesYieldingHooks(from: before).isEmpty)
        #expect(DesiredState().modesYieldingHooks(from: before).isEmpty)
        let after = DesiredState(listeners: [
            Self.listener("a", .afXDP), Self.listener("b", .tcEBPF, on: "eth1"),
            Self.listener("c", .afXDP, on: "eth2"),
        ])
        #expect(after.modesYieldingHooks(from: before) == [.xdpNAT])
    }
}
