// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import PlaneContract
import Testing

extension XDPNATPlaneTests {
    /// ICMP errors of hosts and routers about translated packets (RFC 792, RFC 4443), to the packets' senders.
    @Suite("ICMP errors reach the socket that they are about")
    struct ErrorTests {
        private static let families = [IPAddress.Family.v4, .v6]

        /// A plane with one server, which a test uses by sockets.
        private func inLab(
            _ way: NATNet.Way, server: Endpoint, prepare: (NATNet) throws -> Void = { _ in },
            _ body: @Sendable (NATNet, Rig) async throws -> Void
        ) async throws {
            let net = try NATNet(way, servers: 1)
            try prepare(net)
            var listener = net.listener([], server.address.family)
            listener.downstreams = [Downstream(name: "a", endpoint: server)]
            try await net.balancer.run { [listener] in
                let rig = try await net.rig([listener])
                try await body(net, rig)
                let counters = try await rig.counters()
                #expect(counters.isBalanced && counters.replies?.isBalanced == true)
                await rig.stop()
            }
        }

        private func expect(_ code: Int32, at line: Line) async throws {
            var heard: Int32 = 0
            try await eventually("the error comes") {
                heard = line.error
                return heard != 0
            }
            #expect(heard == code)
        }

        @Test(
            "port unreachable: a client learns that its server is gone",
            arguments: NATNet.Way.allCases, families)
        func noServer(way: NATNet.Way, family: IPAddress.Family) async throws {
            let server = Endpoint(VethLab.address(family, 1, 2), port: 5683)
            try await inLab(way, server: server) { net, rig in
                let client = try net.client.enter {
                    try Line(
                        from: Endpoint(VethLab.address(family, 0, 2), port: 20_001),
                        to: net.service(family))
                }
                client.send()
                try await expect(ECONNREFUSED, at: client)
                #expect(await rig.plane.events()["egress_icmp_error"] == 1)
            }
        }

        @Test(
            "port unreachable: a server learns that its client is gone",
            arguments: NATNet.Way.allCases, families)
        func noClient(way: NATNet.Way, family: IPAddress.Family) async throws {
            let server = Endpoint(VethLab.address(family, 1, 2), port: 5683)
            let client = Endpoint(VethLab.address(family, 0, 2), port: 20_001)
            try await inLab(way, server: server) { net, rig in
                let line = try net.servers[0].enter { try Line(from: server, to: client) }
                line.send()
                try await expect(ECONNREFUSED, at: line)
                #expect(await rig.plane.events()["ingress_icmp_error"] == 1)
            }
        }

        /// A server behind a router, by a link that takes 1400 bytes.
        private func behindRouter(_ net: NATNet, _ inner: Network) throws {
            let router = net.servers[0]
            try router.set("ipv4/ip_forward", to: "1")
            try router.set("ipv6/conf/all/forwarding", to: "1")
            try VethLab.connect(router, "far0", inner, "in0", subnet: 50)
            try router.ip("link set far0 mtu 1400")
            try inner.ip("link set in0 mtu 1400")
            try net.balancer.ip("route add 10.8.50.0/24 via \(VethLab.v4(1, 2))")
            try net.balancer.ip("-6 route add fd08:32::/64 via \(VethLab.v6(1, 2))")
        }

        @Test("too big: a client learns the MTU of the path to its server", arguments: families)
        func tooBigForServer(family: IPAddress.Family) async throws {
            let inner = try Network()
            let server = Endpoint(VethLab.address(family, 50, 2), port: 5683)
            try await inLab(.routed, server: server, prepare: { try behindRouter($0, inner) }) {
                net, rig in
                let sink = try inner.enter { try Sink(on: server.address, port: server.port) }
                let client = try net.client.enter {
                    try Line(
                        from: Endpoint(VethLab.address(family, 0, 2), port: 20_001),
                        to: net.service(family))
                }
                try client.forbidFragments()
                #expect(client.send(bytes: 1420))
                try await expect(EMSGSIZE, at: client)
                // The client's kernel knows the MTU now, and a datagram that fits goes through.
                #expect(!client.send(bytes: 1420))
                _ = client.error
                #expect(client.send(bytes: 1300))
                try await eventually("it arrives") { sink.datagrams.map(\.payload.count) == [1300] }
                #expect(await rig.plane.events()["egress_icmp_error"] == 1)
            }
        }

        @Test("too big: a server learns the MTU of the path to its client", arguments: families)
        func tooBigForClient(family: IPAddress.Family) async throws {
            let server = Endpoint(VethLab.address(family, 1, 2), port: 5683)
            let client = Endpoint(VethLab.address(family, 0, 2), port: 20_001)
            try await inLab(.oneArm, server: server) { net, rig in
                // The gateway's link to the client.
                try net.client.ip("link set c0 mtu 1400")
                try net.gateway?.ip("link set gc0 mtu 1400")
                let sink = try net.client.enter { try Sink(on: client.address, port: client.port) }
                let line = try net.servers[0].enter { try Line(from: server, to: client) }
                try line.forbidFragments()
                #expect(line.send(bytes: 1420))
                try await expect(EMSGSIZE, at: line)
                #expect(!line.send(bytes: 1420))
                _ = line.error
                #expect(line.send(bytes: 1300))
                try await eventually("it arrives") {
                    sink.datagrams
                        == [
                            Received(
                                payload: [UInt8](repeating: 0x78, count: 1300),
                                source: net.service(family))
                        ]
                }
                #expect(await rig.plane.events()["ingress_icmp_error"] == 1)
            }
        }

        @Test(
            "time exceeded: a client learns that its packet has expired", arguments: families)
        func exceededForServer(family: IPAddress.Family) async throws {
            let inner = try Network()
            let server = Endpoint(VethLab.address(family, 50, 2), port: 5683)
            try await inLab(.routed, server: server, prepare: { try behindRouter($0, inner) }) {
                net, rig in
                let client = try net.client.enter {
                    try Line(
                        from: Endpoint(VethLab.address(family, 0, 2), port: 20_001),
                        to: net.service(family))
                }
                try client.takePassingErrors()
                // One hop to the balancer; at the router behind it the TTL expires.
                try client.limitHops(to: 2)
                client.send()
                try await expect(EHOSTUNREACH, at: client)
                #expect(await rig.plane.events()["egress_icmp_error"] == 1)
            }
        }

        @Test(
            "time exceeded: a server learns that its packet has expired", arguments: families)
        func exceededForClient(family: IPAddress.Family) async throws {
            let server = Endpoint(VethLab.address(family, 1, 2), port: 5683)
            let client = Endpoint(VethLab.address(family, 0, 2), port: 20_001)
            try await inLab(.oneArm, server: server) { net, rig in
                let line = try net.servers[0].enter { try Line(from: server, to: client) }
                try line.takePassingErrors()
                // The gateway, the balancer; at the gateway again the TTL expires.
                try line.limitHops(to: 3)
                line.send()
                try await expect(EHOSTUNREACH, at: line)
                #expect(await rig.plane.events()["ingress_icmp_error"] == 1)
            }
        }
    }
}
