// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import Testing
import Tiers

@Suite("What must hold within a listener", .tags(.unit))
struct ListenerTests {
    private static let receiver = "downstream: [{name: r, address: '192.0.2.9:1'}]\n"

    static let refusedCases: [(String, String)] = [
        (
            "bind: 0.0.0.0:514",
            "2:5: listeners[0].downstream: is missing; write at least one receiver, or "
                + "kubernetes, file or dns to find them"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: []",
            "4:5: listeners[0].downstream: holds no receiver; write at "
                + "least one, or kubernetes, file or dns to find them"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream:",
            "4:5: listeners[0].downstream: is empty; write a list, each item "
                + "beginning with '- '"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: [{name: r, address: '192.0.2.9:1', backup: true}]",
            "4:5: listeners[0].downstream: every receiver is a backup, of none; remove backup from those "
                + "that are used first"
        ),
        (
            "bind: 0.0.0.0:514\n\(receiver)kubernetes: {service: s, port: 1}",
            "5:5: listeners[0].kubernetes: stands beside downstream; remove one of the two: the receivers "
                + "come from one source"
        ),
        (
            "bind: 0.0.0.0:514\nfile: {path: a, port: 1}\ndns: {name: b}",
            "5:5: listeners[0].dns: stands beside file; remove one of the two: the receivers come from one "
                + "source"
        ),
        (
            "bind: 0.0.0.0:514\nmode: tc_ebpf\n\(receiver)",
            "2:5: listeners[0].interface: is missing, and mode tc_ebpf hooks into one; write the name of a "
                + "network interface, such as eth0"
        ),
        (
            "bind: 0.0.0.0:514\nmode: xdp_nat\ninterface: an-interface-too-long\n\(receiver)",
            "5:16: listeners[0].interface: 'an-interface-too-long' is not the name of an interface; write "
                + "the name of a network interface, such as eth0"
        ),
        (
            "bind: 0.0.0.0:514\naddresses: [192.0.2.3]\n\(receiver)",
            "4:16: listeners[0].addresses: has no meaning in mode userspace, which serves bind alone; "
                + "remove it, or write mode: tc_ebpf, af_xdp or xdp_nat"
        ),
        (
            "bind: 0.0.0.0:514\nmode: af_xdp\ninterface: e\naddresses: [192.0.2.3, x, 192.0.2.3]\n\(receiver)",
            "6:28: listeners[0].addresses[1]: 'x' is not an IP address; write a list of IP addresses "
                + "without ports, or any\nf:6:31: listeners[0].addresses[2]: 192.0.2.3 stands twice; remove "
                + "one of the two"
        ),
        (
            "bind: 0.0.0.0:514\nmode: af_xdp\ninterface: e\naddresses: all\n\(receiver)",
            "6:5: listeners[0].addresses: is not a list; write a list of IP addresses without ports, or any"
        ),
        (
            "bind: 0.0.0.0:514\nmode: af_xdp\ninterface: e\naddresses: ['0.0.0.0']\n\(receiver)",
            "6:17: listeners[0].addresses[0]: 0.0.0.0 is not the address of one destination; write a list "
                + "of IP addresses without ports, or any"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: [{name: r, address: '192.0.2.9:1', mac: '02:00'}]",
            "4:57: listeners[0].downstream[0].mac: '02:00' is not a MAC address; write six bytes, such as "
                + "02:00:00:00:00:01"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: [{name: r, address: '192.0.2.9:1', weight: 65536}]",
            "4:60: listeners[0].downstream[0].weight: 65536 is out of range; write a whole number from 0 to "
                + "65535"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: [{name: r, address: '192.0.2.9:1'}, {name: r, address: "
                + "'192.0.2.8:1'}]",
            "4:60: listeners[0].downstream[1].name: 'r' is the name of the receiver on line 4; write "
                + "another name"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: [{name: r, address: '192.0.2.9:1'}, {name: s, address: "
                + "'[::ffff:192.0.2.9]:1'}]",
            "4:72: listeners[0].downstream[1].address: 192.0.2.9:1 is the receiver on line 4; remove it; "
                + "write weight to give a receiver more"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: [{name: r, address: '224.0.0.1:1'}]",
            "4:37: listeners[0].downstream[0].address: 224.0.0.1 is a group of receivers, not one; write "
                + "the address of one receiver"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: [{name: r, address: '255.255.255.255:1'}]",
            "4:37: listeners[0].downstream[0].address: 255.255.255.255 is a group of receivers, not one; "
                + "write the address of one receiver"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: [{name: r, address: '[::]:1'}]",
            "4:37: listeners[0].downstream[0].address: :: is every address of a host, not one; write the "
                + "address of one receiver"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: [{name: r, address: '[fe80::1]:1'}]",
            "4:37: listeners[0].downstream[0].address: fe80::1 is link-local and names no interface; write "
                + "[fe80::1%eth0]:port with the interface's name"
        ),
        (
            "bind: 0.0.0.0:514\npreserve_source: true\ndownstream: [{name: r, address: '[2001:db8::1]:1'}]",
            "5:37: listeners[0].downstream[0].address: [2001:db8::1]:1 is IPv6 and the listener IPv4, so a "
                + "datagram cannot keep its source; write an IPv4 receiver, or preserve_source: false"
        ),
        (
            "bind: 0.0.0.0:514\nsettings: {max_downstream: 1}\ndownstream: [{name: r, address: "
                + "'192.0.2.9:1'}, {name: s, address: '192.0.2.8:1'}]",
            "5:5: listeners[0].downstream: holds 2 receivers, settings.max_downstream is 1; write "
                + "max_downstream: 2, or fewer receivers"
        ),
        (
            "bind: 0.0.0.0:514\n\(receiver)settings: {max_packet_size: 0}",
            "5:33: listeners[0].settings."
                + "max_packet_size: 0 is out of range; write bytes from 1 to 65535, such as 9000 or 16KiB"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: [{name: r, address: 'collector.example.com:2055'}]",
            "4:37: listeners[0].downstream[0].address: 'collector.example.com' is a name, and the addresses "
                + "in downstream are not looked up; write dns: {name: collector.example.com, port: 2055} in "
                + "place of downstream"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: [{name: r, address: collector}]",
            "4:37: listeners[0].downstream[0].address: 'collector' is a name, and the addresses in downstream "
                + "are not looked up; write dns: {name: collector, port: PORT} in place of downstream"
        ),
        (
            "bind: 224.0.0.5:514\nmode: tc_ebpf\ninterface: eth0\n\(receiver)",
            "3:11: listeners[0].bind: 224.0.0.5 is a group address, and mode tc_ebpf leaves those to the "
                + "kernel's stack; write an address of one host, or mode: userspace"
        ),
    ]

    @Test("a listener that cannot work is refused with what to write", arguments: refusedCases)
    func refused(lines: String, problem: String) {
        #expect(Reading(listener: lines).errors.joined(separator: "\n") == "f:\(problem)")
    }

    static let warnedCases: [(String, String)] = [
        (
            "bind: 224.0.0.5:514\n\(receiver)",
            "3:11: listeners[0].bind: 224.0.0.5 is a group address, and no group is joined; write an "
                + "address of this host, or join the group by other means"
        ),
        (
            "bind: 0.0.0.0:514\ninterface: eth0\n\(receiver)",
            "4:16: listeners[0].interface: is not used in mode userspace; remove it"
        ),
        (
            "bind: 0.0.0.0:514\nmode: tc_ebpf\ninterface: eth0\naddresses: any\n\(receiver)",
            "6:16: listeners[0].addresses: serves every destination on the port, traffic in transit "
                + "included; write a list of addresses unless this is meant"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: [{name: r, address: '192.0.2.9:1', mac: 02-00-00-00-00-0A}]",
            "4:57: listeners[0].downstream[0].mac: is not used: the next hop comes from the routing table; "
                + "remove it"
        ),
        (
            "bind: 0.0.0.0:514\ndownstream: [{name: r, address: '192.0.2.9:1', weight: 0}]",
            "4:5: listeners[0].downstream: every weight is 0, so no receiver gets traffic; write a weight "
                + "of at least 1 for one receiver"
        ),
        (
            "bind: '[::]:514'\npreserve_source: true\n\(receiver)",
            "4:22: listeners[0].preserve_source: only IPv4 clients keep their source towards IPv4 "
                + "receivers; write a listener of its own for IPv6, with IPv6 receivers"
        ),
    ]

    @Test("what works but is hardly meant is warned about", arguments: warnedCases)
    func warned(lines: String, warning: String) {
        #expect(Reading(listener: lines).warnings == ["f:\(warning)"])
    }

    @Test(
        "the source is preserved by default in the kernel modes alone",
        arguments: ForwardingMode.allCases)
    func preserveSource(mode: ForwardingMode) {
        let lines = "bind: 0.0.0.0:514\nmode: \(mode.rawValue)\ninterface: eth0\n\(Self.receiver)"
        #expect(Reading(listener: lines).listener?.preserveSource == (mode != .userspace))
        let kept = Reading(listener: lines + "preserve_source: true\n")
        #expect(kept.listener?.preserveSource == true)
        let hidden = Reading(listener: lines + "preserve_source: false\n")
        #expect(hidden.listener?.preserveSource == (mode == .userspace ? false : nil))
    }

    @Test("a listener's own settings override the file's key by key, wherever these stand")
    func settings() {
        let own = Reading.good + "    settings: {workers: 3, share_port: true, steer: kernel}\n"
        let common = "settings: {workers: 2, batch_size: 7}\n"
        let expected = ListenerSettings(
            batchSize: 7, workers: 3, sharePort: true, steer: .kernel)
        for text in [own + common, common + own] {
            let configuration = Reading(text).configuration
            #expect(configuration?.listeners[0].settings == expected)
            #expect(configuration?.settings == ListenerSettings(batchSize: 7, workers: 2))
        }
    }

    @Test("the desired state holds the listeners as they are written")
    func desiredState() {
        let state = Reading(
            listener: """
                bind: "[::1]:514"
                balance: four_tuple
                downstream:
                  - {name: r, address: "[fe80::1%eth0]:1", weight: 3}
                  - {name: s, address: "192.0.2.1:2"}
                settings: {max_packet_size: 1500}
                """
        ).configuration?.desiredState
        let zoned = IPAddress(high: 0xfe80_0000_0000_0000, low: 1, zone: "eth0")
        #expect(
            state
                == DesiredState(listeners: [
                    Listener(
                        name: "a", bind: Endpoint(IPAddress(high: 0, low: 1), port: 514),
                        balance: .fourTuple,
                        downstreams: [
                            Downstream(name: "r", endpoint: Endpoint(zoned, port: 1), weight: 3),
                            Downstream(
                                name: "s", endpoint: Endpoint(IPAddress(v4: 0xc000_0201), port: 2)),
                        ], settings: ListenerSettings(maxPacketSize: 1500))
                ]))
    }

    @Test("more receivers than any listener may have are refused with the limit")
    func tooManyReceivers() {
        let items = (0..<1025).map { "{name: r\($0), address: '192.0.2.1:\($0 + 1)'}" }
        let list = "bind: 0.0.0.0:1\ndownstream: [\(items.joined(separator: ", "))]"
        #expect(
            Reading(listener: list).errors == [
                "f:4:5: listeners[0].downstream: holds 1025 receivers, settings.max_downstream is 64; "
                    + "write at most 1024 receivers and max_downstream: 1024"
            ])
    }

    private func balance(_ lines: String) -> Reading {
        Reading(
            listener: "bind: 0.0.0.0:1\ndownstream: [{name: r, address: '192.0.2.1:2'}]\n" + lines)
    }

    @Test(
        "payload_key holds bytes or a preset",
        arguments: [
            ("{offset: 4, length: 8, skip: 2}", PayloadKey(offset: 4, length: 8, skip: 2)),
            ("{length: 1}", PayloadKey(length: 1)),
            ("{preset: ipfix_domain}", PayloadKey(.ipfixDomain)),
            ("{preset: sip_call_id, skip: 4}", PayloadKey(.sipCallID, skip: 4)),
            (
                "{preset: quic_server_id, offset: 1, length: 4}",
                PayloadKey(.quicServerID, offset: 1, length: 4)
            ),
        ])
    func payloadKey(text: String, key: PayloadKey) throws {
        let reading = balance("balance: payload\npayload_key: \(text)")
        #expect(reading.errors.isEmpty)
        let listener = try #require(reading.configuration?.listeners.first)
        #expect(listener.payloadKey == key && listener.listener.payloadKey == key)
        #expect(listener.listener.balance == .payload)
    }

    @Test(
        "a wrong payload_key is refused",
        arguments: [
            ("balance: payload", "payload_key: is missing"),
            ("payload_key: {length: 4}", "has no meaning with balance round_robin"),
            ("balance: payload\npayload_key: {}", "needs a length of 1 to 20"),
            ("balance: payload\npayload_key: {length: 21}", "21"),
            ("balance: payload\npayload_key: {offset: 1024, length: 1}", "1024"),
            ("balance: payload\npayload_key: {preset: radius_id, length: 1}", "has its own bytes"),
            ("balance: payload\npayload_key: {preset: quic_server_id}", "needs a length"),
            (
                "balance: payload\npayload_key: {preset: quic_server_id, offset: 17, length: 4}",
                "20 bytes"
            ),
            ("balance: payload\npayload_key: {preset: quic}", "'quic' is not a preset"),
        ])
    func wrongPayloadKey(lines: String, says: String) {
        let errors = balance(lines).errors
        #expect(errors.count == 1 && errors[0].contains(says), "\(errors)")
    }
}
