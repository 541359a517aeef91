// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import KernelForwarding
import Testing

@testable import TCPlane

extension TCPlaneTests {
    @Suite("chooses the path to a receiver")
    struct WayTests {
        /// The plane's path to a receiver, in the network of the calling thread.
        private func view(_ receivers: [IPAddress]) throws -> NetworkView {
            var netlink = try Netlink()
            return try NetworkView.ask(
                &netlink, names: ["lb0"], known: [:], receivers: Set(receivers), mindsRules: true)
        }

        private func index(_ name: String) throws -> UInt32 {
            var netlink = try Netlink()
            return try #require(try netlink.link(named: name)).index
        }

        private static func isPeer(_ path: ReceiverPath?, by interface: UInt32) -> Bool {
            if case .peer(interface, _, _, _) = path { true } else { false }
        }

        @Test(
            "behind a veth of this host: by the neighbour first, then straight to the peer",
            arguments: [IPAddress.Family.v4, .v6])
        func peer(family: IPAddress.Family) async throws {
            let lab = try VethLab(receivers: 1)
            try await lab.balancer.run {
                let (receiver, out) = (VethLab.address(family, 1, 2), try index("out0"))
                let unresolved = try view([receiver])
                #expect(
                    unresolved.paths[receiver]
                        == .neighbour(interface: out, nextHop: receiver, mtu: 1500))
                let near = VethLab.address(family, 1, 1)
                let probe = try Traffic(to: Endpoint(receiver, port: 9), from: near)
                try await eventually("the neighbour is known") {
                    probe.send([0])
                    return try Self.isPeer(view([receiver]).paths[receiver], by: out)
                }
                let shown = try lab.receivers[0].enter { try Shell.output("ip -br link show in0") }
                guard case .peer(_, _, let mac, let mtu) = try view([receiver]).paths[receiver]
                else {
                    Issue.record("the path was lost")
                    return
                }
                let text = mac.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
                    .joined(separator: ":")
                #expect(shown.contains(text), "\(shown)")
                #expect(mtu == 1500)
                #expect(unresolved.routeless == [] && unresolved.forwarded == [])
            }
        }

        @Test(
            "behind a gateway: out of its interface, with its address and the route's MTU"
        )
        func gateway() async throws {
            let lab = try VethLab(receivers: 1)
            try await lab.balancer.run {
                // A veth with both ends here leads to no other namespace.
                try lab.balancer.ip("link add wire type veth peer name erew")
                try lab.balancer.ip("link set wire up")
                try lab.balancer.ip("link set erew up")
                try lab.balancer.ip("address add 10.30.0.1/24 dev wire")
                try lab.balancer.ip("route add 10.31.0.0/16 via 10.30.0.9 mtu 1300")
                let far = try #require(IPAddress("10.31.2.3"))
                let hop = try #require(IPAddress("10.30.0.9"))
                let wire = try index("wire")
                #expect(
                    try view([far]).paths[far]
                        == .neighbour(interface: wire, nextHop: hop, mtu: 1300))
                try lab.balancer.ip("neigh replace 10.30.0.9 lladdr 02:00:00:00:00:09 dev wire")
                #expect(
                    try view([far]).paths[far]
                        == .neighbour(interface: wire, nextHop: hop, mtu: 1300))
            }
        }

        @Test("several next hops, or a route that drops: by a route lookup for each packet")
        func routes() async throws {
            let lab = try VethLab(receivers: 2)
            try await lab.balancer.run {
                try lab.balancer.ip(
                    "route add 10.32.0.0/16 nexthop via \(VethLab.v4(1, 2)) nexthop via "
                        + "\(VethLab.v4(2, 2))")
                try lab.balancer.ip("route add blackhole 10.33.0.0/16")
                let many = try #require(IPAddress("10.32.0.1"))
                let hole = try #require(IPAddress("10.33.0.1"))
                let view = try view([many, hole])
                #expect(view.paths == [many: .routes, hole: .routes])
                #expect(view.forwarded == [many, hole] && view.routeless == [])
            }
        }

        @Test(
            "with rules on more than the destination: by a route lookup for each packet",
            arguments: [
                ("from 10.9.0.0/16", true), ("iif lb0", true), ("ipproto 17 dport 5000", true),
                ("to 10.9.0.0/16", false), ("fwmark 7", false),
            ])
        func rules(rule: String, looks: Bool) async throws {
            let lab = try VethLab(receivers: 1)
            try await lab.balancer.run {
                let (receiver, own) = (VethLab.v4(1, 2), VethLab.v4(1, 1))
                try lab.balancer.ip("rule add \(rule) table 77")
                let now = try view([receiver, own])
                #expect((now.paths[receiver] == .routes) == looks, "\(now.paths)")
                #expect(now.forwarded.contains(receiver) == looks)
                #expect(
                    now.paths[own] == .stack, "rules do not change this host's addresses")
                #expect(try view([VethLab.v6(1, 2)]).forwarded == [], "a family has its own rules")
                // The kernel looks up routes only for packets that it would forward.
                try lab.balancer.set("ipv4/conf/lb0/forwarding", to: "0")
                #expect(try view([receiver]).forwarded == [])
            }
        }

        @Test("behind a link whose peer is down: reported, also when it is up again")
        func unplugged() async throws {
            let lab = try VethLab(receivers: 2)
            let (gone, there) = (VethLab.v4(1, 2), VethLab.v4(2, 2))
            try await lab.balancer.run {
                #expect(try view([gone, there]).unplugged == [])
                try lab.receivers[0].ip("link set in0 down")
                try await eventually("it is seen") {
                    try view([gone, there]).unplugged == [gone]
                }
                try lab.receivers[0].ip("link set in0 up")
                try await eventually("it is back") { try view([gone, there]).unplugged == [] }
            }
        }

        @Test("a broadcast address is no path to a receiver")
        func broadcast() async throws {
            let lab = try VethLab(receivers: 1)
            try await lab.balancer.run {
                let all = VethLab.v4(1, 255)
                let view = try view([all])
                #expect(view.paths == [all: .routes] && view.routeless == [all])
            }
        }

        @Test("on this host: up the stack; behind a link without addresses: also up")
        func stack() async throws {
            let lab = try VethLab(receivers: 1)
            try await lab.balancer.run {
                try lab.balancer.ip("tuntap add mode tun name tun0")
                try lab.balancer.ip("link set tun0 up")
                try lab.balancer.ip("route add 10.34.0.0/16 dev tun0")
                let own = [VethLab.v4(1, 1), VethLab.v6(1, 1)]
                let tunnelled = try #require(IPAddress("10.34.0.1"))
                let view = try view(own + [tunnelled])
                let expected = [own[0]: ReceiverPath.stack, own[1]: .stack, tunnelled: .forwarding]
                #expect(view.paths == expected)
                #expect(view.forwarded == [tunnelled])
            }
        }

        @Test("without a route there is no path, and the view reports that")
        func routeless() async throws {
            let lab = try VethLab(receivers: 1)
            try await lab.balancer.run {
                let nowhere = [
                    try #require(IPAddress("192.0.2.1")), try #require(IPAddress("2001:db8::1")),
                ]
                let view = try view(nowhere)
                #expect(view.paths.values.allSatisfy { $0 == .routes })
                #expect(view.routeless == Set(nowhere) && view.forwarded == [])
            }
        }

        @Test("the paths to 8192 receivers are found quickly")
        func many() async throws {
            let lab = try VethLab(receivers: 1)
            try await lab.balancer.run {
                try lab.balancer.ip("route add 10.64.0.0/12 via \(VethLab.v4(1, 2))")
                let receivers = (0..<8192).map { IPAddress(v4: 0x0a40_0000 + $0) }
                let probe = try Traffic(to: Endpoint(receivers[0], port: 9), from: VethLab.v4(1, 1))
                let out = try index("out0")
                try await eventually("the router is known") {
                    probe.send([0])
                    return try Self.isPeer(view([receivers[0]]).paths[receivers[0]], by: out)
                }
                var paths: [IPAddress: ReceiverPath] = [:]
                let time = try ContinuousClock().measure { paths = try view(receivers).paths }
                #expect(paths.values.count { Self.isPeer($0, by: out) } == 8192)
                // 0.6 s on two CPUs, without optimisation.
                #expect(time < .seconds(30))
            }
        }

        @Test("the forwarding setting of an interface is known for each family")
        func forwards() async throws {
            let lab = try VethLab(receivers: 1)
            try await lab.balancer.run {
                #expect(try view([]).interface(named: "lb0")?.forwards == [.v4, .v6])
                try lab.balancer.set("ipv4/conf/lb0/forwarding", to: "0")
                #expect(try view([]).interface(named: "lb0")?.forwards == [.v6])
                try lab.balancer.set("ipv6/conf/all/forwarding", to: "0")
                #expect(try view([]).interface(named: "lb0")?.forwards == [])
            }
        }
    }
}
