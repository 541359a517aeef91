// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import FanoutCore
import LabNet
import Testing
import Tiers

/// The program caches the kernel's route lookups for a while.
@Suite("Cached routes in xdp_nat", .tags(.network), .loadsPrograms, .takesNAT)
struct NATWayTests {
    static let families = [IPAddress.Family.v4, .v6]
    /// The neighbour's address, and its later one.
    static let (old, new): ([UInt8], [UInt8]) = ([2, 0, 0, 0, 0, 0xbb], [2, 0, 0, 0, 0, 0xcc])
    /// Longer than a test takes.
    static let long: UInt32 = 1_000_000

    @Test(
        "a lookup holds until user space reports a change, in both directions",
        arguments: families)
    func untilToldOtherwise(family: IPAddress.Family) async throws {
        try await NATRouteTests.inNetwork {
            try onOneCPU { () throws in
                let fixture = try Self.fixture(family, ticks: Self.long)
                let packets = [try NATCase.request(family), try NATCase.answer(family)]
                // The first packet of a client takes the slow path, and so does its first reply.
                for _ in 0..<2 {
                    for packet in packets { #expect(try Self.hop(fixture, packet) == Self.old) }
                }
                try Self.move(family)
                for packet in packets { #expect(try Self.hop(fixture, packet) == Self.old) }
                try fixture.changeRoutes()
                for packet in packets { #expect(try Self.hop(fixture, packet) == Self.new) }
            }
        }
    }

    @Test("a lookup expires without a reported change", arguments: families)
    func noLonger(family: IPAddress.Family) async throws {
        try await NATRouteTests.inNetwork {
            try onOneCPU { () throws in
                let fixture = try Self.fixture(family, ticks: 0)
                for _ in 0..<2 {
                    #expect(try Self.hop(fixture, NATCase.request(family)) == Self.old)
                }
                try Self.move(family)
                #expect(try Self.hop(fixture, NATCase.request(family)) == Self.new)
            }
        }
    }

    @Test("with routes by destination a lookup holds for all clients of a server")
    func byDestination() async throws {
        try await NATRouteTests.inNetwork {
            try onOneCPU { () throws in
                let fixture = try Self.fixture(.v4, ticks: Self.long)
                let known = try NATCase.request(.v4)
                var other = known
                other.source = try Endpoint(parsing: "198.51.100.8:40001")
                for packet in [known, other, known] {
                    #expect(try Self.hop(fixture, packet) == Self.old)
                }
                try Self.move(.v4)
                for packet in [known, other] {
                    #expect(try Self.hop(fixture, packet) == Self.old)
                }
            }
        }
    }

    @Test("with routes by flow a lookup holds for one flow", arguments: families)
    func sameQuestion(family: IPAddress.Family) async throws {
        try await NATRouteTests.inNetwork {
            try onOneCPU { () throws in
                let fixture = try Self.fixture(family, ticks: Self.long)
                try fixture.routeByFlow()
                let known = try NATCase.request(family)
                var others = [known, known]
                others[0].source = Endpoint(known.source.address, port: 40001)
                others[1].trafficClass = 0x20
                for _ in 0..<2 { #expect(try Self.hop(fixture, known) == Self.old) }
                // Known clients, so that only the route is looked up again.
                _ = try fixture.run(others[0])
                try fixture.changeRoutes()
                for _ in 0..<2 { #expect(try Self.hop(fixture, known) == Self.old) }
                try Self.move(family)
                #expect(try Self.hop(fixture, others[0]) == Self.new)
                #expect(try Self.hop(fixture, known) == Self.old)
                // In the same place of the cache as the known one.
                #expect(try Self.hop(fixture, others[1]) == Self.new)
            }
        }
    }

    @Test("a packet above the MTU of a cached route does not use it")
    func tooLong() async throws {
        try await NATRouteTests.inNetwork {
            try onOneCPU { () throws in
                let fixture = try Self.fixture(.v4, ticks: Self.long)
                var packet = try NATCase.request(.v4)
                for _ in 0..<2 { #expect(try fixture.run(packet).verdict == .redirect) }
                packet.payload = [UInt8](repeating: 1, count: 1473)
                packet.mayBeCut = true
                #expect(try fixture.run(packet).verdict == .pass)
                packet.payload.removeLast()
                #expect(try fixture.run(packet).verdict == .redirect)
            }
        }
    }

    @Test("packets on a cached route count as on a looked-up route", arguments: families)
    func counted(family: IPAddress.Family) async throws {
        try await NATRouteTests.inNetwork {
            try onOneCPU { () throws in
                let fixture = try Self.fixture(family, ticks: Self.long)
                for _ in 0..<5 {
                    try fixture.run(NATCase.request(family))
                    try fixture.run(NATCase.answer(family))
                }
                for direction in NATFixture.Direction.allCases {
                    let counts = try fixture.counts(0, direction)
                    #expect(counts.common.received == 5 && counts.common.forwarded == 5)
                    #expect(try fixture.serverCounts(0, direction).forwarded == 5)
                }
            }
        }
    }

    private static func fixture(_ family: IPAddress.Family, ticks: UInt32) throws -> NATFixture {
        let fixture = try NATFixture(.init(isRouted: true, wayTicks: ticks))
        try fixture.listen(
            on: ["\(NATCase.service(family))"], servers: ["\(NATCase.server(family))"])
        return fixture
    }

    /// The link-layer destination of a packet; nil when it does not leave.
    private static func hop(_ fixture: NATFixture, _ packet: Datagram) throws -> [UInt8]? {
        let outcome = try fixture.run(packet)
        return outcome.verdict == .redirect ? Array(outcome.output[0..<6]) : nil
    }

    /// Changes the neighbour's address.
    private static func move(_ family: IPAddress.Family) throws {
        try Namespace.ip(
            family == .v4
                ? "neigh replace 10.1.0.1 lladdr 02:00:00:00:00:cc dev near"
                : "-6 neigh replace 2001:db8:51::1 lladdr 02:00:00:00:00:cc dev near")
    }
}
