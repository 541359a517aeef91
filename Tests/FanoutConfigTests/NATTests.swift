// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import Testing
import Tiers

@Suite("The keys of mode xdp_nat", .tags(.unit))
struct NATTests {
    private static let place = "mode: xdp_nat\ninterface: e\n"

    @Test("vip and ports stand for bind, and receivers without a port are met at each")
    func vip() throws {
        let reading = Reading(
            listener: Self.place + """
                vip: 10.188.7.99
                ports: [5683, 5684]
                balance: roundrobin
                downstream: [{name: a, address: 10.188.100.163}, {name: b, address: "10.188.100.230"}]
                """)
        let listener = try #require(reading.listener, "\(reading.errors)").listener
        #expect(reading.warnings == [])
        #expect("\(listener.bind)" == "10.188.7.99:5683")
        #expect(listener.nat == NATSettings(furtherPorts: [5684]))
        #expect(listener.balance == .roundRobin)
        #expect(
            listener.downstreams.map { "\($0.endpoint)" } == [
                "10.188.100.163:5683", "10.188.100.230:5683",
            ])
    }

    @Test("every key has its meaning, and its default when it is not written")
    func settings() throws {
        let receiver = "downstream: [{name: r, address: '192.0.2.9:1'}]\n"
        let bare = Reading(listener: Self.place + "bind: 192.0.2.1:53\n" + receiver)
        #expect(bare.listener?.nat == NATSettings())
        let full = Reading(
            listener: Self.place + receiver + """
                bind: 192.0.2.1:53
                protocol: both
                one_arm: true
                max_associations: 1000
                unanswered: false
                settings: {xdp_mode: native}
                """)
        let listener = try #require(full.listener, "\(full.errors)")
        #expect(
            listener.nat
                == NATSettings(
                    transport: .both, isOneArm: true, maxAssociations: 1000,
                    keepsUnansweredApart: false))
        #expect(listener.settings.xdpMode == .native)
    }

    static let refusedCases: [(String, String)] = [
        (
            "ports: [1]\nbind: 192.0.2.1:53\ndownstream: [{name: r, address: '192.0.2.9:1'}]",
            "5:5: listeners[0].ports: stands beside bind; remove bind, or write the address and port "
                + "there alone"
        ),
        (
            "vip: 192.0.2.1\ndownstream: [{name: r, address: '192.0.2.9:1'}]",
            "2:5: listeners[0].ports: is missing; write a list of numbers from 1 to 65535, such as "
                + "[5683, 5684]"
        ),
        (
            "ports: [1]\ndownstream: [{name: r, address: '192.0.2.9:1'}]",
            "2:5: listeners[0].vip: is missing; write an IP address, such as 192.0.2.1"
        ),
        (
            "downstream: [{name: r, address: '192.0.2.9:1'}]",
            "2:5: listeners[0].bind: is missing; write ip:port, such as 192.0.2.1:514 or "
                + "[2001:db8::1]:514"
        ),
        (
            "vip: 192.0.2.1\nports: [0, 5683, x]\ndownstream: [{name: r, address: '192.0.2.9'}]",
            "6:13: listeners[0].ports[0]: '0' is not a port; write a list of numbers from 1 to 65535, "
                + "such as [5683, 5684]\nf:6:22: listeners[0].ports[2]: 'x' is not a port; write a list "
                + "of numbers from 1 to 65535, such as [5683, 5684]"
        ),
        (
            "vip: 192.0.2.1\nports: [5683, 5683]\ndownstream: [{name: r, address: '192.0.2.9'}]",
            "6:19: listeners[0].ports[1]: 5683 stands twice; remove one of the two"
        ),
        (
            "vip: 0.0.0.0\nports: [5683]\ndownstream: [{name: r, address: '192.0.2.9:1'}]",
            "5:10: listeners[0].vip: 0.0.0.0 is not the address of one destination; write an IP "
                + "address, such as 192.0.2.1"
        ),
        (
            "vip: 192.0.2.1\nports: [5683, 5684]\ndownstream: [{name: r, address: '192.0.2.9:7'}]",
            "7:37: listeners[0].downstream[0].address: 192.0.2.9:7 names a port, and the listener has 2, "
                + "which its receivers share; write 192.0.2.9 without a port, or a listener for each port"
        ),
        (
            "vip: 192.0.2.1\nports: [5683, 5684]\nfile: {path: /r, port: 5684}",
            "7:22: listeners[0].file.port: 5684 is one port, and the listener has 2, which its receivers "
                + "share; write 5683, which stands for all of them, or a listener for each port"
        ),
        (
            "bind: 192.0.2.1:53\naddresses: any\ndownstream: [{name: r, address: '192.0.2.9:1'}]",
            "6:16: listeners[0].addresses: answers leave as the address that the client spoke to, which "
                + "has to be known; write a list of addresses"
        ),
        (
            "bind: 192.0.2.1:53\npreserve_source: false\n"
                + "downstream: [{name: r, address: '192.0.2.9:1'}]",
            "6:22: listeners[0].preserve_source: mode xdp_nat rewrites the destination alone, so "
                + "receivers see the client's source; remove it, or write mode: userspace"
        ),
        (
            "bind: 192.0.2.1:53\nprotocol: sctp\ndownstream: [{name: r, address: '192.0.2.9:1'}]",
            "6:15: listeners[0].protocol: 'sctp' is not a protocol; write udp, tcp or both"
        ),
        (
            "bind: 192.0.2.1:53\nmax_associations: 0\ndownstream: [{name: r, address: '192.0.2.9:1'}]",
            "6:23: listeners[0].max_associations: 0 is out of range; write a whole number from 1 to "
                + "67108864"
        ),
    ]

    @Test("a mistake names its line and what to write", arguments: refusedCases)
    func refused(lines: String, says: String) {
        let reading = Reading(listener: Self.place + lines)
        #expect(reading.errors.joined(separator: "\n") == "f:" + says)
    }

    @Test("they are refused in other modes")
    func elsewhere() {
        let reading = Reading(
            listener: "bind: 192.0.2.1:53\none_arm: true\n"
                + "downstream: [{name: r, address: '192.0.2.9:1'}]")
        #expect(
            reading.errors == [
                "f:4:5: listeners[0].one_arm: has no meaning in mode userspace; remove it, or write "
                    + "mode: xdp_nat"
            ])
    }

    private static func two(_ first: String, _ second: String) -> Reading {
        let body = [first, second].enumerated().map { number, lines in
            "  - name: l\(number)\n" + lines.split(separator: "\n").map { "    \($0)\n" }.joined()
        }.joined()
        return Reading("listeners:\n" + body)
    }

    @Test("an address and port of a receiver belongs to one listener")
    func oneOwner() {
        let reading = Self.two(
            Self.place + "bind: 192.0.2.1:53\ndownstream: [{name: r, address: '192.0.2.9:1'}]",
            Self.place + "bind: 192.0.2.1:54\ndownstream: [{name: r, address: '192.0.2.9:1'}]")
        #expect(
            reading.errors == [
                "f:11:37: listeners[1].downstream[0].address: 192.0.2.9:1 is a receiver of listener "
                    + "'l0' (line 6) too, and its answers could not be told apart; have it listen on a "
                    + "port for each listener"
            ])
    }

    @Test("listeners agree on what is one for the program")
    func agreement() {
        let reading = Self.two(
            Self.place + "bind: 192.0.2.1:53\ndownstream: [{name: r, address: '192.0.2.9:1'}]",
            Self.place + "bind: 192.0.2.1:54\none_arm: true\n"
                + "downstream: [{name: r, address: '192.0.2.9:2'}]")
        #expect(
            reading.errors == [
                "f:11:5: listeners[1].one_arm: is true here and false for listener 'l0' (line 2); write "
                    + "one one_arm for all listeners of mode xdp_nat"
            ])
    }

    @Test("an interface has either this mode or af_xdp")
    func oneProgram() {
        let reading = Self.two(
            "mode: af_xdp\ninterface: e\nbind: 192.0.2.1:53\n"
                + "downstream: [{name: r, address: '192.0.2.9:1'}]",
            Self.place + "bind: 192.0.2.1:54\ndownstream: [{name: r, address: '192.0.2.9:2'}]")
        #expect(
            reading.errors == [
                "f:9:16: listeners[1].interface: 'e' is the interface of listener 'l0' of mode af_xdp "
                    + "(line 4), and an interface has room for one XDP program; write another "
                    + "interface, or one mode for both"
            ])
    }

    @Test("each of the ports is taken: another listener on one of them collides")
    func collision() {
        let reading = Self.two(
            Self.place + "vip: 192.0.2.1\nports: [53, 54]\n"
                + "downstream: [{name: r, address: 192.0.2.9}]",
            Self.place + "bind: 192.0.2.1:54\ndownstream: [{name: r, address: '192.0.2.8:1'}]")
        #expect(reading.errors.count == 1)
        #expect(reading.errors.first?.contains("192.0.2.1:54 collides with listener 'l0'") == true)
    }
}
