// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import Testing

@testable import KernelForwarding

extension NetlinkTests {
    @Suite("on routes")
    struct RouteTests {
        /// A route as `ip -j route get` prints it.
        private struct Line: Decodable {
            let dev: String?
            let gateway: String?
            let prefsrc: String?
        }

        private static let commands =
            Wire.addressed + [
                "route add default via 10.0.0.254", "-6 route add default via fd00::fe",
                "route add 10.1.0.0/16 via 10.0.0.7 mtu 1280 src 10.0.0.1",
                "-6 route add fd01::/64 via fd00::7 mtu 1300",
                "route add blackhole 10.2.0.0/16", "-6 route add blackhole fd02::/64",
                "route add unreachable 10.3.0.0/16", "-6 route add unreachable fd03::/64",
                "route add prohibit 10.4.0.0/16", "-6 route add prohibit fd04::/64",
                "route add 10.5.0.0/16 nexthop via 10.0.0.5 nexthop via 10.0.0.6",
                "-6 route add fd05::/64 nexthop via fd00::5 nexthop via fd00::6",
                "route add 10.6.0.0/16 via inet6 fd00::9",
            ]

        @Test(
            "names the interface, the next hop and the source that ip names",
            arguments: [
                "10.0.0.9", "10.1.2.3", "192.0.2.1", "10.6.0.1", "10.0.0.1", "10.0.0.255",
                "127.0.0.1",
                "fd00::9", "fd01::9", "2001:db8::1", "fd00::1", "::1",
            ])
        func compared(text: String) async throws {
            try await Wire.run(Self.commands) { _ in
                var netlink = try Netlink()
                let destination = try host(text)
                let route = try #require(try netlink.route(to: destination))
                let line = try #require(try await ip(Line.self, "route get \(text)").first)
                #expect(try netlink.link(index: route.interface ?? 0)?.name == line.dev)
                #expect(route.source?.description == line.prefsrc)
                if text != "10.6.0.1" {  // ip prints `via` for a gateway of the other family
                    #expect(route.gateway?.description == line.gateway)
                }
                #expect(route.nextHop == route.gateway ?? destination)
                #expect(!route.isMultipath)
            }
        }

        @Test(
            "gives the fate of a packet, in either family",
            arguments: [
                ("10.1.0.1", "fd01::1", RouteKind.unicast), ("10.0.0.1", "fd00::1", .local),
                ("10.2.0.1", "fd02::1", .blackhole), ("10.3.0.1", "fd03::1", .unreachable),
                ("10.4.0.1", "fd04::1", .prohibit),
            ])
        func kinds(v4: String, v6: String, kind: RouteKind) async throws {
            try await Wire.run(Self.commands) { _ in
                var netlink = try Netlink()
                for text in [v4, v6] {
                    let route = try #require(try netlink.route(to: host(text)))
                    #expect(route.kind == kind, "\(text)")
                    #expect(
                        (route.interface == nil) == ![.unicast, .local].contains(kind), "\(text)")
                }
                let broadcast = try netlink.route(to: host("10.0.0.255"))
                #expect(broadcast?.kind == .broadcast)
                let multicast = try netlink.route(to: host("239.0.0.1"))
                #expect(multicast?.kind == .multicast)
            }
        }

        @Test("knows an IPv6 router of an IPv4 network")
        func otherFamily() async throws {
            try await Wire.run(Self.commands) { _ in
                var netlink = try Netlink()
                let route = try #require(try netlink.route(to: host("10.6.0.1")))
                #expect(try route.gateway == host("fd00::9"))
                #expect(try route.nextHop == host("fd00::9"))
            }
        }

        @Test("gives the MTU of a route that has one")
        func mtu() async throws {
            try await Wire.run(Self.commands) { _ in
                var netlink = try Netlink()
                let mtus = try ["10.1.0.1", "fd01::1", "10.0.0.9", "192.0.2.1"].map {
                    try netlink.route(to: host($0))?.mtu
                }
                #expect(mtus == [1280, 1300, nil, nil])
            }
        }

        @Test("knows a route with several next hops, and which of them this packet takes")
        func multipath() async throws {
            try await Wire.run(Self.commands) { _ in
                var netlink = try Netlink()
                let hops: [(String, Set<String>)] = [
                    ("10.5.0.", ["10.0.0.5", "10.0.0.6"]), ("fd05::", ["fd00::5", "fd00::6"]),
                ]
                for (network, wanted) in hops {
                    var met: Set<String> = []
                    for host in 1...40 {
                        let destination = try #require(IPAddress("\(network)\(host)"))
                        let route = try #require(try netlink.route(to: destination))
                        #expect(route.isMultipath && route.kind == .unicast)
                        met.insert(route.nextHop.description)
                    }
                    #expect(met == wanted)
                }
            }
        }

        @Test("knows the next hops of a nexthop group too")
        func nexthopGroup() async throws {
            let group = [
                "nexthop add id 1 via 10.0.0.5 dev near", "nexthop add id 2 via 10.0.0.6 dev near",
                "nexthop add id 3 group 1/2", "route add 10.7.0.0/16 nhid 3",
                "route add 10.8.0.0/16 nhid 1",
            ]
            try await Wire.run(Self.commands + group) { _ in
                var netlink = try Netlink()
                let several = try #require(try netlink.route(to: host("10.7.0.1")))
                let one = try #require(try netlink.route(to: host("10.8.0.1")))
                #expect(several.isMultipath)
                #expect(!one.isMultipath && one.gateway == IPAddress("10.0.0.5"))
            }
        }

        @Test(
            "gives the same routes for many at once as for each, also in several batches",
            arguments: [1 << 20, 4 << 10] as [Int32])
        func together(receiveBufferBytes: Int32) async throws {
            try await Wire.run(Self.commands) { _ in
                var netlink = try Netlink(receiveBufferBytes: receiveBufferBytes)
                let link = try #require(try netlink.link(named: "near")).index
                let texts = [
                    "10.0.0.9", "10.0.0.1", "10.0.0.255", "10.1.2.3", "10.2.0.1", "10.3.0.1",
                    "10.4.0.1", "10.5.0.1", "10.6.0.1", "192.0.2.1", "127.0.0.1", "239.0.0.1",
                    "fd00::9", "fd01::9", "fd02::1", "fd03::1", "fd04::1", "fd05::1", "::1",
                    "2001:db8::1", "fe80::9%near", "fe80::9%\(link)",
                ]
                // Several batches of requests, the last of which is not full.
                let all = try (0..<7).flatMap { _ in try texts.map(host) }
                let routes = try netlink.routes(to: all)
                #expect(routes.count == all.count)
                for (destination, route) in zip(all, routes) {
                    #expect(try netlink.route(to: destination) == route, "\(destination)")
                }
                #expect(Set(routes.compactMap { $0?.kind }).count == 7)
                #expect(routes.contains { $0?.isMultipath == true })
                #expect(try netlink.routes(to: []).isEmpty)
            }
        }

        @Test("omits destinations without a route from a batch, and fails for none")
        func togetherWithout() async throws {
            try await Wire.run(Wire.addressed) { _ in
                var netlink = try Netlink()
                let some = try ["192.0.2.1", "10.0.0.9", "2001:db8::1", "fd00::9"].map(host)
                #expect(
                    try netlink.routes(to: some).map { $0 == nil } == [true, false, true, false])
                let nowhere = try host("fe80::1%gone")
                #expect(throws: NetlinkError.self) { try netlink.routes(to: [nowhere]) }
                #expect(try netlink.routes(to: some)[1]?.kind == .unicast)
            }
        }

        @Test("reports that there is no route")
        func noRoute() async throws {
            try await Wire.run(Wire.addressed) { _ in
                var netlink = try Netlink()
                for text in ["192.0.2.1", "2001:db8::1"] {
                    #expect(try netlink.route(to: host(text)) == nil)
                }
                // IPv4 has none for a source that is no address of this host either.
                let there = try host("10.0.0.9")
                #expect(try netlink.route(to: there, from: host("10.0.0.1"))?.interface != nil)
                #expect(try netlink.route(to: there, from: host("10.0.0.8")) == nil)
            }
        }

        @Test("follows the policy rules for a source address")
        func source() async throws {
            let rules = [
                "addr add 10.0.0.2/24 dev near", "rule add from 10.0.0.2 lookup 77",
                "route add default via 10.0.0.77 table 77",
            ]
            try await Wire.run(Self.commands + rules) { _ in
                var netlink = try Netlink()
                let far = try host("192.0.2.1")
                let gateways = try ["10.0.0.1", "10.0.0.2"].map {
                    try netlink.route(to: far, from: host($0))?.gateway?.description
                }
                #expect(gateways == ["10.0.0.254", "10.0.0.77"])
            }
        }

        @Test("looks up the route of a packet that comes in by an interface")
        func arrival() async throws {
            let rules = [
                "link add other type veth peer name rehto", "link set other up",
                "link set rehto up", "addr add 10.20.0.1/24 dev other",
                "-6 addr add fd20::1/64 dev other nodad",
                "rule add iif other lookup 77", "-6 rule add iif other lookup 77",
                "route add default via 10.0.0.77 table 77",
                "-6 route add default via fd00::77 table 77",
            ]
            try await Wire.run(Self.commands + rules) { _ in
                try Namespace.set("ipv4/ip_forward", to: "1")
                try Namespace.set("ipv6/conf/all/forwarding", to: "1")
                var netlink = try Netlink()
                let other = try #require(try netlink.link(named: "other")).index
                for (client, far, gateway) in [
                    ("10.20.0.5", "192.0.2.1", "10.0.0.77"), ("fd20::5", "2001:db8::1", "fd00::77"),
                ] {
                    let route = try netlink.route(
                        to: host(far), from: host(client),
                        arrivingOn: other)
                    #expect(route?.gateway?.description == gateway)
                    #expect(route?.interface == (try netlink.link(named: "near")?.index))
                }
                try Namespace.set("ipv4/conf/other/forwarding", to: "0")
                let shut = try netlink.route(
                    to: host("10.0.0.9"), from: host("10.20.0.5"),
                    arrivingOn: other)
                #expect(shut?.kind == .unreachable)
            }
        }

        @Test("finds a blackhole also for a source and for an input interface")
        func blackholeWithSource() async throws {
            try await Wire.run(Self.commands) { _ in
                try Namespace.set("ipv4/ip_forward", to: "1")
                var netlink = try Netlink()
                let near = try #require(try netlink.link(named: "near")).index
                let hole = try host("10.2.0.1")
                #expect(
                    try netlink.route(to: hole, from: host("10.0.0.1"))?.kind == .blackhole)
                let arriving = try netlink.route(
                    to: hole, from: host("10.0.0.9"), arrivingOn: near)
                #expect(arriving?.kind == .blackhole)
            }
        }

        @Test("follows the zone of a link-local destination, by name and by number")
        func zone() async throws {
            let other = [
                "link add left type veth peer name right", "link set left up", "link set right up",
            ]
            try await Wire.run(["link set near up"] + other) { _ in
                var netlink = try Netlink()
                for name in ["near", "left", "right"] {
                    let index = try #require(try netlink.link(named: name)).index
                    for zone in [name, "\(index)"] {
                        try await eventually("\(zone) has its link-local network") {
                            let route = try netlink.route(to: host("fe80::9%\(zone)"))
                            return route?.interface == index && route?.gateway == nil
                        }
                    }
                }
                let error = refusal { _ = try netlink.route(to: host("fe80::9%gone")) }
                #expect(error?.errno == ENODEV)
            }
        }

        @Test("an impossible source is an error with a remedy")
        func impossibleSource() async throws {
            try await Wire.run(Self.commands) { _ in
                var netlink = try Netlink()
                let near = try #require(try netlink.link(named: "near")).index
                let far = try host("192.0.2.1")
                let multicast = refusal { _ = try netlink.route(to: far, from: host("239.0.0.1")) }
                #expect(multicast?.errno == EINVAL)
                #expect(multicast?.remedy.contains("a source that this host has") == true)
                let none = refusal { _ = try netlink.route(to: far, arrivingOn: near) }
                #expect(none?.errno == EINVAL)
                #expect(none?.subject == "the route to 192.0.2.1 by interface \(near)")
                let mixed = refusal { _ = try netlink.route(to: far, from: host("fd00::1")) }
                #expect(mixed?.remedy == "give a source of the destination's family")
                let gone = refusal {
                    _ = try netlink.route(to: far, from: host("10.0.0.9"), arrivingOn: 4711)
                }
                #expect(gone?.errno == ENODEV)
            }
        }
    }
}
