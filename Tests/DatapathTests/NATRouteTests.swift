// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import FanoutCore
import LabNet
import Testing
import Tiers

/// Test runs come in by the loopback, so packets leave by another interface.
@Suite("How xdp_nat routes", .tags(.network), .loadsPrograms, .takesNAT)
struct NATRouteTests {
    static let commands = [
        "link set lo up", "link add near type veth peer name far",
        "link set near address 02:00:00:00:00:aa", "link set near up", "link set far up",
        "addr add 10.1.0.254/24 dev near", "-6 addr add 2001:db8:51::254/64 dev near nodad",
        "neigh add 10.1.0.1 lladdr 02:00:00:00:00:bb dev near",
        "neigh add 2001:db8:51::1 lladdr 02:00:00:00:00:bb dev near",
        "route add 198.51.100.0/24 via 10.1.0.1", "-6 route add 2001:db8:7::/64 via 2001:db8:51::1",
        "route add unreachable 10.2.0.0/16", "route add blackhole 10.3.0.0/16",
        "route add prohibit 10.4.0.0/16", "-6 route add unreachable 2001:db8:2::/64",
    ]

    @Test(
        "a request and its reply leave by the route, with the addresses of that link",
        arguments: [IPAddress.Family.v4, .v6])
    func routed(family: IPAddress.Family) async throws {
        try await Self.inNetwork {
            let fixture = try Self.fixture(server: NATCase.server(family))
            for (packet, source, destination) in [
                (try NATCase.request(family), nil, try NATCase.server(family)),
                (try NATCase.answer(family), try NATCase.service(family), nil),
            ] as [(Datagram, Endpoint?, Endpoint?)] {
                var expected = packet.turned(source: source, destination: destination)
                expected.ethernetDestination = [2, 0, 0, 0, 0, 0xbb]
                expected.ethernetSource = [2, 0, 0, 0, 0, 0xaa]
                #expect(
                    try fixture.run(packet) == .init(verdict: .redirect, output: expected.frame))
            }
            for direction in NATFixture.Direction.allCases {
                let counts = try fixture.counts(0, direction)
                #expect(counts.common.forwarded == 1 && counts.common.isBalanced)
                #expect(counts[LB_NAT_TO_STACK] == 0)
            }
        }
    }

    @Test("a packet that needs the stack goes there translated, with its TTL unchanged")
    func toStack() async throws {
        try await Self.inNetwork {
            let tagged: (inout Datagram) -> Void = { $0.tags = [0x8100] }
            let long: (inout Datagram) -> Void = {
                $0.payload = [UInt8](repeating: 1, count: 1473)
                $0.mayBeCut = true
            }
            for (server, bend) in [
                // An unresolved neighbour; this host; a tag; beyond the MTU.
                ("10.1.0.77:7001", { _ in }), ("10.1.0.254:7001", { _ in }),
                ("10.1.0.1:7001", tagged), ("10.1.0.1:7001", long),
                ("[2001:db8:51::77]:7001", { _ in }),
            ] as [(String, (inout Datagram) -> Void)] {
                let server = try Endpoint(parsing: server)
                let fixture = try Self.fixture(server: server)
                try fixture.own("10.1.0.254")
                var packet = try NATCase.request(server.address.family)
                bend(&packet)
                var expected = packet
                expected.destination = server
                #expect(try fixture.run(packet) == .init(verdict: .pass, output: expected.frame))
                let counts = try fixture.counts(0, .ingress)
                #expect(counts[LB_NAT_TO_STACK] == 1 && counts.common.forwarded == 1)
            }
        }
    }

    @Test("a packet of exactly the MTU is forwarded")
    func mtu() async throws {
        try await Self.inNetwork {
            let fixture = try Self.fixture(server: NATCase.server(.v4))
            var packet = try NATCase.request(.v4)
            packet.payload = [UInt8](repeating: 1, count: 1472)
            #expect(try fixture.run(packet).verdict == .redirect)
        }
    }

    @Test("a route without a destination drops and counts")
    func nowhere() async throws {
        try await Self.inNetwork {
            for (server, event, reason) in [
                ("10.2.0.1:7001", LB_NAT_UNREACHABLE, DropReason.unreachable),
                ("10.3.0.1:7001", LB_NAT_UNREACHABLE, .unreachable),
                ("10.4.0.1:7001", LB_NAT_NOT_PERMITTED, .notPermitted),
                ("[2001:db8:2::1]:7001", LB_NAT_UNREACHABLE, .unreachable),
                ("10.77.0.1:7001", LB_NAT_UNREACHABLE, .unreachable),
                ("[2001:db8:77::1]:7001", LB_NAT_UNREACHABLE, .unreachable),
            ] {
                let server = try Endpoint(parsing: server)
                let fixture = try Self.fixture(server: server)
                let packet = try NATCase.request(server.address.family)
                #expect(try fixture.run(packet).verdict == .drop)
                let counts = try fixture.counts(0, .ingress)
                #expect(counts[event] == 1 && counts.common[reason] == 1)
                #expect(counts.common.isBalanced)
                #expect(try fixture.serverCounts(0, .ingress)[reason] == 1)
            }
        }
    }

    @Test("later fragments and ICMP errors are routed too")
    func others() async throws {
        try await Self.inNetwork {
            let fixture = try Self.fixture(server: NATCase.server(.v4))
            for range in [0..<16, 16..<41] {
                var packet = try NATCase.request(.v4)
                packet.fragment = .init(
                    identification: 5, range: range, isLast: range.upperBound == 41)
                #expect(try fixture.run(packet).verdict == .redirect)
            }
            let error = try IPPacket.error(
                3, code: 3, from: "198.51.100.7", to: "192.0.2.1",
                quoting: Datagram(from: "192.0.2.1:5683", to: "198.51.100.7:40000").frame)
            let outcome = try fixture.run(error.frame)
            #expect(outcome.verdict == .redirect)
            #expect(outcome.output[0..<6] == [2, 0, 0, 0, 0, 0xbb])
        }
    }

    static func inNetwork(_ body: @Sendable () async throws -> Void) async throws {
        try await Namespace.run(commands) {
            for variable in ["ipv4/conf/all/forwarding", "ipv6/conf/all/forwarding"] {
                try Namespace.set(variable, to: "1")
            }
            try await body()
        }
    }

    private static func fixture(server: Endpoint) throws -> NATFixture {
        let fixture = try NATFixture(.init(isRouted: true))
        try fixture.listen(
            on: ["\(NATCase.service(server.address.family))"], servers: ["\(server)"])
        return fixture
    }
}
