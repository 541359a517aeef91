// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import Testing
import Tiers

@Suite("Ports whose protocols need replies", .tags(.unit))
struct ReplyPortTests {
    private func warnings(
        port: Int, receiver: Int = 9999, _ more: String = ""
    ) -> [String] {
        Reading(
            listener: """
                bind: 192.0.2.1:\(port)
                downstream: [{name: r, address: "192.0.2.9:\(receiver)"}]
                \(more)
                """
        ).warnings
    }

    @Test(
        "a protocol that needs replies is warned of, since mode userspace carries none",
        arguments: [
            (53, "DNS"), (67, "DHCP"), (69, "TFTP"), (123, "NTP"), (161, "SNMP"), (443, "QUIC"),
            (1812, "RADIUS"), (1813, "RADIUS"), (3478, "STUN"), (5060, "SIP"),
            (5683, "CoAP"), (5684, "CoAP"),
        ])
    func replies(port: Int, name: String) {
        let text =
            "\(port) is a port of \(name): receivers reply, and mode userspace forwards one way, so "
            + "replies are dropped; write mode: xdp_nat unless senders need no replies"
        #expect(warnings(port: port) == ["f:3:11: listeners[0].bind: \(text)"])
        #expect(
            warnings(port: 9998, receiver: port) == [
                "f:4:37: listeners[0].downstream[0].address: \(text)"
            ])
        #expect(warnings(port: port, receiver: port).count == 1)
    }

    @Test("one that needs none is not", arguments: [162, 514, 8125])
    func oneWay(port: Int) { #expect(warnings(port: port, receiver: port) == []) }

    @Test("nor is a listener whose receivers see the client, or whose mode carries replies")
    func otherWays() {
        #expect(warnings(port: 53, "preserve_source: true") == [])
        #expect(warnings(port: 53, "mode: tc_ebpf\ninterface: eth0") == [])
        #expect(warnings(port: 53, receiver: 53, "mode: xdp_nat\ninterface: eth0") == [])
    }
}
