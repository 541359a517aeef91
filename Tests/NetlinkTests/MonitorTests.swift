// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import KernelForwarding
import Testing

extension NetlinkTests {
    @Suite("on changes")
    struct MonitorTests {
        @Test("reports a link that comes up, goes down, is renamed, deleted and added again")
        func links() async throws {
            try await Wire.run { _ in
                var netlink = try Netlink()
                let first = try #require(try netlink.link(named: "near")).index
                let log = EventLog()
                let monitor = try NetlinkMonitor([.links], body: log.take)
                defer { monitor.stop() }
                func expect(
                    _ what: String, _ presence: NetlinkEvent.Presence = .present,
                    _ fits: @escaping (NetworkLink) -> Bool
                ) async throws {
                    try await log.expect(what) {
                        if case .link(let link, presence) = $0 { fits(link) } else { false }
                    }
                }
                try Namespace.ip("link set near up")
                try await expect("up") { $0.index == first && $0.isUp && $0.hasCarrier }
                try Namespace.ip("link set near mtu 1300")
                try await expect("shorter") { $0.index == first && $0.mtu == 1300 }
                try Namespace.ip("link set near down")
                try await expect("down") { $0.mtu == 1300 && !$0.isUp }
                try Namespace.ip("link set near name renamed")
                try await expect("renamed") { $0.index == first && $0.name == "renamed" }
                try Namespace.ip("link del renamed")
                try await expect("gone", .gone) { $0.index == first && $0.name == "renamed" }
                try Namespace.ip("link add near type veth peer name right")
                let second = try #require(try netlink.link(named: "near")).index
                try await expect("made again") { $0.index == second && $0.kind == "veth" }
            }
        }

        @Test("reports that the other end of the veth goes down")
        func carrier() async throws {
            try await Wire.run(["link set near up"]) { far in
                let log = EventLog()
                let monitor = try NetlinkMonitor([.links], body: log.take)
                defer { monitor.stop() }
                try await far.run { try Namespace.ip("link set far down") }
                try await log.expect("no carrier") {
                    if case .link(let link, .present) = $0 {
                        link.isUp && !link.hasCarrier
                    } else {
                        false
                    }
                }
            }
        }

        @Test("does not report a link that leaves a bridge as deleted")
        func bridge() async throws {
            try await Wire.run(["link add bridge type bridge", "link set near master bridge"]) {
                _ in
                let log = EventLog()
                let monitor = try NetlinkMonitor([.links], body: log.take)
                defer { monitor.stop() }
                try Namespace.ip("link set near nomaster")
                try Namespace.ip("link set lo down")
                try await log.expect("the last change") {
                    if case .link(let link, .present) = $0 { link.name == "lo" } else { false }
                }
                #expect(log.count { if case .link(_, .gone) = $0 { true } else { false } } == 0)
            }
        }

        @Test("reports added and removed addresses", arguments: ["10.0.0.9/24", "fd00::9/64"])
        func addresses(text: String) async throws {
            try await Wire.run(["link set near up"]) { _ in
                let log = EventLog()
                let monitor = try NetlinkMonitor([.addresses], body: log.take)
                defer { monitor.stop() }
                let address = try host(String(text.prefix { $0 != "/" }))
                try Namespace.ip("addr add \(text) dev near")
                try await log.expect("there") {
                    if case .address(let it, .present) = $0 { it.address == address } else { false }
                }
                try Namespace.ip("addr del \(text) dev near")
                try await log.expect("gone") {
                    if case .address(let it, .gone) = $0 { it.address == address } else { false }
                }
            }
        }

        @Test("reports added, changed and removed routes")
        func routes() async throws {
            try await Wire.run(Wire.addressed) { _ in
                var netlink = try Netlink()
                let near = try #require(try netlink.link(named: "near")).index
                let log = EventLog()
                let monitor = try NetlinkMonitor([.routes], body: log.take)
                defer { monitor.stop() }
                let v4 = ["10.1.0.0", "10.0.0.5", "10.0.0.6"]
                let v6 = ["fd01::", "fd00::5", "fd00::6"]
                for (addresses, bits) in [(v4, UInt8(16)), (v6, 64)] {
                    let places = try addresses.map(host)
                    let family = bits == 64 ? "-6" : "-4"
                    let network = "\(addresses[0])/\(bits)"
                    func expect(
                        _ what: String, _ presence: NetlinkEvent.Presence, _ gateway: IPAddress?,
                        isMultipath: Bool = false
                    ) async throws {
                        try await log.expect("\(network) \(what)") {
                            guard case .route(let entry, presence) = $0 else { return false }
                            return entry.destination == places[0] && entry.prefixLength == bits
                                && entry.table == 1234 && entry.kind == .unicast
                                && entry.gateway == gateway && entry.isMultipath == isMultipath
                                && entry.interface == (isMultipath ? nil : near)
                        }
                    }
                    let route = "\(network) table 1234"
                    try Namespace.ip("\(family) route add \(route) via \(addresses[1])")
                    try await expect("there", .present, places[1])
                    try Namespace.ip("\(family) route replace \(route) via \(addresses[2])")
                    try await expect("changed", .present, places[2])
                    try Namespace.ip(
                        "\(family) route replace \(route) nexthop via \(addresses[1])"
                            + " nexthop via \(addresses[2])")
                    try await expect("several", .present, nil, isMultipath: true)
                    try Namespace.ip("\(family) route del \(network) table 1234")
                    try await eventually("\(network) gone") {
                        log.events.contains {
                            if case .route(let it, .gone) = $0 {
                                it.destination == places[0]
                            } else {
                                false
                            }
                        }
                    }
                }
                try Namespace.ip("route add default via 10.0.0.5")
                try await log.expect("a default route") {
                    guard case .route(let entry, .present) = $0 else { return false }
                    return entry.destination == .any && entry.prefixLength == 0
                        && entry.table == 254
                }
            }
        }

        @Test("reports neighbours and rules")
        func neighboursAndRules() async throws {
            try await Wire.run(Wire.addressed) { _ in
                let log = EventLog()
                let monitor = try NetlinkMonitor([.neighbours, .rules], body: log.take)
                defer { monitor.stop() }
                let wanted = try host("fd00::5")
                try Namespace.ip("-6 neigh add fd00::5 lladdr 02:00:00:00:00:05 dev near")
                try await log.expect("there") {
                    guard case .neighbour(let it, .present) = $0 else { return false }
                    return it.address == wanted && it.mac?.description == "02:00:00:00:00:05"
                }
                try Namespace.ip("-6 neigh change fd00::5 dev near nud failed")
                try await log.expect("failed") {
                    guard case .neighbour(let it, .present) = $0 else { return false }
                    return it.address == wanted && it.state == .failed
                }
                for (family, name) in [(IPAddress.Family.v4, "-4"), (.v6, "-6")] {
                    try Namespace.ip("\(name) rule add iif near priority 5 lookup 300")
                    try await log.expect("a rule") {
                        guard case .rule(let it, .present) = $0 else { return false }
                        return it.family == family && it.priority == 5 && it.table == 300
                    }
                    try Namespace.ip("\(name) rule del priority 5")
                    try await log.expect("no rule") {
                        if case .rule(let it, .gone) = $0 { it.family == family } else { false }
                    }
                }
            }
        }

        @Test(
            "reports changes of the forwarding setting",
            arguments: ["ipv4/ip_forward", "ipv6/conf/all/forwarding"])
        func settings(name: String) async throws {
            try await Wire.run(Wire.addressed) { _ in
                let log = EventLog()
                let monitor = try NetlinkMonitor([.settings], body: log.take)
                defer { monitor.stop() }
                try Namespace.set(name, to: "1")
                try await log.expect("a setting") { $0 == .setting }
            }
        }

        @Test("reports only the requested topics")
        func topics() async throws {
            try await Wire.run { _ in
                let log = EventLog()
                let monitor = try NetlinkMonitor([.rules], body: log.take)
                defer { monitor.stop() }
                for command in Wire.addressed { try Namespace.ip(command) }
                try Namespace.ip("rule add iif near priority 5 lookup 300")
                try await log.expect("a rule") { if case .rule = $0 { true } else { false } }
                #expect(log.events.count == 1)
            }
        }
    }
}
