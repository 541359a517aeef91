// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import Testing
import Tiers

@Suite("What the protocol of a well-known port asks of a listener", .tags(.unit))
struct ProtocolTests {
    private static let two =
        "downstream: [{name: r, address: '192.0.2.8:1'}, {name: s, address: '192.0.2.9:1'}]"

    private func warnings(_ port: UInt16, _ lines: String, _ receivers: String = two) -> [String] {
        let reading = Reading(listener: "bind: 0.0.0.0:\(port)\n\(lines)\n\(receivers)")
        #expect(reading.errors.isEmpty)
        return reading.warnings
    }

    @Test(
        "exporters whose datagrams are spread are warned about",
        arguments: [2055, 4739, 6343, 9995, 9996] as [UInt16],
        ["balance: round_robin", "balance: random", ""])
    func spread(port: UInt16, balance: String) throws {
        let found = try #require(WellKnownProtocol(port: port))
        let warning = try #require(warnings(port, balance).first)
        #expect(
            warning.contains("listeners[0].balance: \(port) is a port of \(found.rawValue): with r")
        )
        #expect(
            warning.hasSuffix("; write balance: source_ip and preserve_source: true"), "\(warning)")
        let kept = warnings(port, "preserve_source: true\n\(balance)")
        #expect(kept.count == 1 && kept[0].hasSuffix("; write balance: source_ip"), "\(kept)")
        #expect(warnings(port, "mode: tc_ebpf\ninterface: eth0\n\(balance)").count == 1)
        let looked = warnings(port, balance, "dns: {name: collectors.example, port: 2055}")
        #expect(looked.count == 1)
    }

    @Test("templates are the reason for NetFlow and IPFIX, counters for sFlow, which has none")
    func reasons() {
        #expect(warnings(2055, "").first?.contains("NetFlow: with round_robin a template") == true)
        #expect(warnings(4739, "").first?.contains("IPFIX: with round_robin a template") == true)
        let sFlow = warnings(6343, "").first
        #expect(sFlow?.contains("sFlow: with round_robin each receiver sees gaps") == true)
    }

    @Test("nothing is said where an exporter stays with one receiver, or the port is another's")
    func unspread() {
        #expect(warnings(2055, "preserve_source: true\nbalance: source_ip").isEmpty)
        #expect(warnings(2055, "balance: four_tuple").isEmpty)
        let one = "downstream: [{name: r, address: '192.0.2.8:1'}]"
        #expect(warnings(2055, "balance: round_robin", one).isEmpty)
        let idle =
            "downstream: [{name: r, address: '192.0.2.8:1'}, {name: s, address: '192.0.2.9:1', weight: 0}]"
        #expect(warnings(2055, "", idle).isEmpty)
        // Of xdp_nat the turn is a client's, which stays with its server.
        #expect(warnings(2055, "mode: xdp_nat\ninterface: eth0").isEmpty)
        for port in [514, 53, 1812, 5060, 9000] as [UInt16] {
            #expect(warnings(port, "balance: round_robin\npreserve_source: true").isEmpty)
        }
    }

    @Test(
        "source_ip without the source is warned about where receivers tell senders apart by it",
        arguments: [
            (2055, "NetFlow: a collector tells exporters apart"),
            (4739, "IPFIX: a collector tells exporters apart"),
            (514, "syslog: a server may name senders"), (1812, "RADIUS: a server finds"),
            (1813, "RADIUS: a server finds"),
        ] as [(UInt16, String)])
    func hidden(port: UInt16, reason: String) throws {
        func senders(_ lines: String) -> [String] {
            warnings(port, lines).filter { $0.contains("preserve_source: ") }
        }
        let found = senders("balance: source_ip")
        #expect(found.count == 1)
        #expect(found.first?.contains("preserve_source: \(port) is a port of \(reason)") == true)
        for choice in ["true", "false"] {
            #expect(senders("balance: source_ip\npreserve_source: \(choice)").isEmpty)
        }
        #expect(warnings(port, "balance: source_ip\nmode: tc_ebpf\ninterface: eth0").isEmpty)
    }

    @Test("an sFlow datagram names its agent, so the source may change")
    func agents() { #expect(warnings(6343, "balance: source_ip").isEmpty) }

    @Test("a port belongs to one protocol")
    func ports() {
        let all = WellKnownProtocol.allCases.flatMap(\.ports)
        #expect(Set(all).count == all.count)
        for found in WellKnownProtocol.allCases {
            for port in found.ports { #expect(WellKnownProtocol(port: port) == found) }
        }
        #expect(WellKnownProtocol(port: 9000) == nil)
        #expect(
            WellKnownProtocol.allCases.filter { !$0.expectsReplies } == [
                .netFlow, .ipfix, .sFlow, .syslog,
            ])
    }
}
