// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import Testing
import Tiers

@Suite("What must hold between the listeners of a file", .tags(.unit))
struct CrossTests {
    /// A listener of the table: what is written after its name.
    private static func file(_ listeners: [String]) -> Reading {
        let items = listeners.enumerated().map { index, lines in
            let receiver =
                lines.contains("downstream")
                ? "" : ", downstream: [{name: r, address: '198.51.100.1:9'}]"
            return "- {name: \(["a", "b", "c"][index]), \(lines)\(receiver)}\n"
        }
        return Reading("listeners:\n" + items.joined())
    }

    static let collidingCases: [([String], String)] = [
        (
            ["bind: '192.0.2.1:1'", "bind: '192.0.2.1:1'"],
            "f:3:19: listeners[1].bind: 192.0.2.1:1 collides with listener 'a' (192.0.2.1:1, line 2); write "
                + "another address or port"
        ),
        (
            ["bind: '192.0.2.1:1'", "bind: '0.0.0.0:1'"],
            "0.0.0.0:1 collides with listener 'a' (192.0.2.1:1, line 2); write"
        ),
        (
            ["bind: '0.0.0.0:1'", "bind: '192.0.2.1:1'"],
            "192.0.2.1:1 collides with listener 'a' (0.0.0.0:1, line 2); write"
        ),
        (
            ["bind: '[::]:1'", "bind: '192.0.2.1:1'"],
            "192.0.2.1:1 collides with listener 'a' ([::]:1, line 2): [::] serves IPv4 as well; write"
        ),
        (
            ["bind: '0.0.0.0:1'", "bind: '[::]:1'"],
            "[::]:1 collides with listener 'a' (0.0.0.0:1, line 2): [::] serves IPv4 as well; write"
        ),
        (
            ["bind: '[2001:db8::1]:1'", "bind: '[::]:1'"],
            "[::]:1 collides with listener 'a' ([2001:db8::1]:1, line 2); write"
        ),
        (
            ["bind: '[::ffff:192.0.2.1]:1'", "bind: '192.0.2.1:1'"],
            "192.0.2.1:1 collides with listener 'a' (192.0.2.1:1, line 2); write"
        ),
        (
            ["bind: '192.0.2.1:1'", "bind: '192.0.2.1:1', mode: tc_ebpf, interface: e"],
            "192.0.2.1:1 collides with listener 'a' (192.0.2.1:1, line 2), although one is userspace and the "
                + "other tc_ebpf; write"
        ),
        (
            [
                "bind: '192.0.2.1:1', mode: tc_ebpf, interface: e",
                "bind: '192.0.2.1:1', mode: tc_ebpf, interface: e",
            ], "192.0.2.1:1 collides with listener 'a' (192.0.2.1:1, line 2); write"
        ),
        (
            [
                "bind: '192.0.2.1:1', mode: tc_ebpf, interface: e, addresses: [192.0.2.7]",
                "bind: '192.0.2.7:1', mode: tc_ebpf, interface: e",
            ], "192.0.2.7:1 collides with listener 'a' (192.0.2.7:1, line 2); write"
        ),
        (
            [
                "bind: '192.0.2.7:1', mode: tc_ebpf, interface: e",
                "bind: '192.0.2.1:1', mode: af_xdp, interface: e, addresses: any",
            ],
            "listeners[1].addresses: any address on port 1 collides with listener 'a' (192.0.2.7:1, "
                + "line 2), although one is tc_ebpf and the other af_xdp; write"
        ),
    ]

    /// Listeners of mode tc_ebpf: attach mode and interface of each.
    private static func hooked(_ hooks: [(attach: String, interface: String)]) -> Reading {
        file(
            hooks.enumerated().map { number, hook in
                "bind: '192.0.2.1:\(number + 1)', mode: tc_ebpf, interface: \(hook.interface), "
                    + "settings: {tc_attach: \(hook.attach)}"
            })
    }

    @Test("two listeners of an interface that want different hooks are refused, with both lines")
    func hooks() {
        let errors = Self.hooked([("auto", "e"), ("tcx", "e"), ("clsact", "e")]).errors
        #expect(errors.count == 1)
        let error = errors.first ?? ""
        #expect(error.hasPrefix("f:4:"), "\(error)")
        #expect(
            error.hasSuffix(
                "listeners[2].settings.tc_attach: tc_attach is clsact here and tcx for listener 'b' "
                    + "(line 3), and both hook into 'e'; write one tc_attach for all listeners of an "
                    + "interface"), "\(error)")
        for agreed in [
            [("auto", "e"), ("tcx", "e")], [("clsact", "e"), ("clsact", "e")],
            [("tcx", "e"), ("clsact", "f")],
        ] {
            #expect(Self.hooked(agreed).errors == [])
        }
    }

    @Test("a hook from the common settings counts, and its listener's line is named")
    func commonHook() {
        let own = Reading(
            """
            settings: {tc_attach: tcx}
            listeners:
            - {name: a, bind: '192.0.2.1:1', mode: tc_ebpf, interface: e, settings: {tc_attach: clsact},
               downstream: [{name: r, address: '198.51.100.1:9'}]}
            - {name: b, bind: '192.0.2.1:2', mode: tc_ebpf, interface: e,
               downstream: [{name: r, address: '198.51.100.1:9'}]}
            """)
        #expect(own.errors.count == 1)
        #expect(own.errors.first?.hasPrefix("f:5:") == true, "\(own.errors)")
        #expect(
            own.errors.first?.contains(
                "listeners[1].interface: tc_attach is tcx here and clsact for listener 'a' (line 3)"
            )
                == true, "\(own.errors)")
    }

    @Test(
        "two listeners that serve one destination are refused, with both places",
        arguments: collidingCases)
    func colliding(listeners: [String], problem: String) {
        let errors = Self.file(listeners).errors
        #expect(errors.count == 1)
        #expect(errors.first?.contains(problem) == true, "\(errors)")
    }

    static let apartCases: [[String]] = [
        ["bind: '192.0.2.1:1'", "bind: '192.0.2.1:2'"],
        ["bind: '192.0.2.1:1'", "bind: '192.0.2.2:1'"],
        ["bind: '0.0.0.0:1'", "bind: '[2001:db8::1]:1'"],
        ["bind: '[fe80::1%e]:1'", "bind: '[fe80::1%f]:1'"],
        [
            "bind: '0.0.0.0:1', mode: tc_ebpf, interface: e",
            "bind: '0.0.0.0:1', mode: tc_ebpf, interface: f",
        ],
        ["bind: '0.0.0.0:1', mode: tc_ebpf, interface: e, addresses: [192.0.2.1]"],
    ]

    @Test("listeners that serve different destinations stand side by side", arguments: apartCases)
    func apart(listeners: [String]) {
        #expect(Self.file(listeners).configuration?.listeners.count == listeners.count)
    }

    @Test("a collision is found even when the other listener is wrong in another key")
    func collisionBesideMistake() {
        let errors = Self.file(["bind: '192.0.2.1:1', balance: x", "bind: '192.0.2.1:1'"]).errors
        #expect(errors.count == 2)
        #expect(errors.last?.contains("collides with listener 'a'") == true)
    }

    @Test("tc_ebpf refuses to hide the source, and receivers that the kernel would not let in")
    func rewriting() {
        func errors(_ interface: String, _ receiver: String) -> [String] {
            Reading(
                listener: """
                    bind: 192.0.2.1:514
                    mode: tc_ebpf
                    interface: \(interface)
                    downstream: [{name: r, address: '\(receiver)'}]
                    """
            ).errors
        }
        #expect(errors("eth0", "192.0.2.9:1") == [])
        #expect(errors("lo", "127.0.0.2:1") == [])
        let loopback = errors("eth0", "127.0.0.2:1")
        #expect(loopback.count == 1)
        #expect(loopback.first?.contains("127.0.0.2:1 is a loopback address") == true)
    }

    @Test(
        "a kernel mode cannot hide the source",
        arguments: ForwardingMode.allCases.filter { $0 != .userspace })
    func hidden(mode: ForwardingMode) {
        let errors = Reading(
            listener: """
                bind: 192.0.2.1:514
                mode: \(mode.rawValue)
                interface: eth0
                preserve_source: false
                downstream: [{name: r, address: '192.0.2.9:514'}]
                """
        ).errors
        #expect(errors.count == 1)
        #expect(errors.first?.contains("rewrites the destination alone") == true)
    }

    @Test(
        "what is said to do about a receiver of another family is accepted",
        arguments: ForwardingMode.allCases)
    func otherFamily(mode: ForwardingMode) {
        func reading(
            _ mode: ForwardingMode, _ preserve: Bool?, receiver: String = "[2001:db8::1]:1"
        ) -> Reading {
            let more = preserve.map { "preserve_source: \($0)\n" } ?? ""
            let place = mode.needsInterface ? "interface: eth0\n" : ""
            return Reading(
                listener: """
                    bind: 192.0.2.1:514
                    mode: \(mode.rawValue)
                    \(place)\(more)downstream: [{name: r, address: '\(receiver)'}]
                    """)
        }
        for preserve in [nil, true] where mode != .userspace || preserve == true {
            let problem = reading(mode, preserve).errors.first ?? ""
            let remedy = problem.split(separator: "; ").last ?? ""
            #expect(remedy.hasPrefix("write an IPv4 receiver, or "), "\(problem)")
            #expect(reading(mode, preserve, receiver: "192.0.2.9:1").errors == [])
            let wanted = remedy.contains("mode: userspace") ? .userspace : mode
            let hides = remedy.contains("preserve_source: false")
            #expect(
                reading(wanted, hides ? false : preserve).listener?.preserveSource == false,
                "\(remedy)")
            #expect(wanted == .userspace, "a kernel mode always shows the source")
        }
    }

    @Test("two listeners of one name are refused")
    func names() {
        let reading = Reading(
            """
            listeners:
            - {name: a, bind: '0.0.0.0:1', downstream: [{name: r, address: '192.0.2.1:1'}]}
            - {name: a, bind: '0.0.0.0:2', downstream: [{name: r, address: '192.0.2.1:1'}]}
            """)
        #expect(
            reading.errors == [
                "f:3:10: listeners[1].name: 'a' is the name of the listener on line 2; write another name"
            ])
    }

    private static func to(_ bind: String, _ receiver: String) -> String {
        "bind: '\(bind)', downstream: [{name: r, address: '\(receiver)'}]"
    }

    static let loopsCases: [([String], String)] = [
        (
            [to("192.0.2.1:1", "192.0.2.1:1")],
            "f:2:66: listeners[0].downstream[0].address: 192.0.2.1:1 is this listener itself, so datagrams "
                + "would go round for ever; write the address of a receiver"
        ),
        ([to("0.0.0.0:1", "127.0.0.1:1")], "127.0.0.1:1 is this listener itself"),
        ([to("0.0.0.0:1", "127.9.9.9:1")], "127.9.9.9:1 is this listener itself"),
        ([to("[::]:1", "127.0.0.1:1")], "127.0.0.1:1 is this listener itself"),
        ([to("[::]:1", "[::1]:1")], "[::1]:1 is this listener itself"),
        (
            [to("0.0.0.0:1", "192.0.2.1:1"), to("192.0.2.1:2", "192.0.2.9:9")],
            "192.0.2.1:1 is this listener itself"
        ),
        (
            [to("192.0.2.1:1", "192.0.2.1:2"), to("192.0.2.1:2", "192.0.2.1:1")],
            "f:3:66: listeners[1].downstream[0].address: listener 'a' -> listener 'b' -> listener 'a' is a "
                + "ring, so datagrams would go round for ever; write the address of a receiver that is no "
                + "listener of this file"
        ),
        (
            [
                to("192.0.2.1:1", "192.0.2.1:2"), to("0.0.0.0:2", "127.0.0.1:3"),
                to("[::]:3", "192.0.2.1:1"),
            ], "listener 'a' -> listener 'b' -> listener 'c' -> listener 'a' is a ring"
        ),
    ]

    @Test("a listener that sends to itself, or in a ring, is refused", arguments: loopsCases)
    func loops(listeners: [String], problem: String) {
        let errors = Self.file(listeners).errors
        #expect(errors.count == 1)
        #expect(errors.first?.contains(problem) == true, "\(errors)")
    }

    static let straightCases: [[String]] = [
        [to("0.0.0.0:1", "127.0.0.1:2")], [to("0.0.0.0:1", "192.0.2.1:1")],
        [to("192.0.2.1:1", "192.0.2.1:2"), to("192.0.2.1:2", "192.0.2.1:3")],
        [to("127.0.0.1:1", "[::1]:1")],
        [
            to("192.0.2.1:1", "192.0.2.1:3"), to("192.0.2.1:2", "192.0.2.1:3"),
            to("192.0.2.1:3", "192.0.2.9:1"),
        ],
    ]

    @Test("a chain of listeners that ends somewhere is served", arguments: straightCases)
    func straight(listeners: [String]) {
        #expect(Self.file(listeners).configuration?.listeners.count == listeners.count)
    }
}
