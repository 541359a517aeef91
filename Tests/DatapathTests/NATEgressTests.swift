// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import FanoutCore
import LabNet
import Testing
import Tiers

/// Test runs come in by the loopback, and leave by `near`.
@Suite("xdp_nat and the state of links", .tags(.network), .loadsPrograms, .takesNAT)
struct NATEgressTests {
    static let families = [IPAddress.Family.v4, .v6]

    @Test(
        "a packet for an interface that transmits no XDP frames goes to the stack, translated",
        arguments: families)
    func noTransmitter(family: IPAddress.Family) async throws {
        try await NATRouteTests.inNetwork {
            let fixture = try Self.fixture(family, link: LB_NAT_LINK_TX.rawValue)
            for _ in 0..<3 {
                let packet = try NATCase.request(family)
                var expected = packet
                expected.destination = try NATCase.server(family)
                #expect(try fixture.run(packet) == .init(verdict: .pass, output: expected.frame))
            }
            let counts = try fixture.counts(0, .ingress)
            #expect(counts[LB_NAT_TO_STACK] == 3 && counts.common.forwarded == 3)
            #expect(counts.common.isBalanced)
        }
    }

    @Test("in the stack every interface transmits", arguments: families)
    func inStack(family: IPAddress.Family) async throws {
        try await NATRouteTests.inNetwork {
            let fixture = try Self.fixture(family, link: 0, isInStack: true)
            #expect(try fixture.run(NATCase.request(family)).verdict == .redirect)
            var fragment = try NATCase.request(family)
            for range in [0..<16, 16..<41] {
                fragment.fragment = .init(
                    identification: 5, range: range, isLast: range.upperBound == 41)
                #expect(try fixture.run(fragment).verdict == .redirect)
            }
        }
    }

    @Test(
        "a packet for a link that is down is unreachable, with a known neighbour or without",
        arguments: families)
    func down(family: IPAddress.Family) async throws {
        try await NATRouteTests.inNetwork {
            for server in [
                try NATCase.server(family),
                try Endpoint(
                    parsing: family == .v4 ? "10.1.0.77:7001" : "[2001:db8:51::77]:7001"),
            ] {
                let link = LB_NAT_LINK_TRANSMITS.rawValue | LB_NAT_LINK_DOWN.rawValue
                let fixture = try Self.fixture(family, server: server, link: link)
                #expect(try fixture.run(NATCase.request(family)).verdict == .drop)
                let counts = try fixture.counts(0, .ingress)
                #expect(counts[LB_NAT_UNREACHABLE] == 1 && counts.common[.unreachable] == 1)
                #expect(counts.common.isBalanced)
                #expect(try fixture.serverCounts(0, .ingress)[.unreachable] == 1)
            }
        }
    }

    @Test("a packet above the MTU is dropped, and its sender is informed", arguments: families)
    func tooLong(family: IPAddress.Family) async throws {
        try await NATRouteTests.inNetwork {
            for isInStack in [false, true] {
                let fixture = try Self.fixture(family, isInStack: isInStack)
                let (client, service) = (try NATCase.client(family), try NATCase.service(family))
                for (direction, packet, sender) in [
                    (NATFixture.Direction.ingress, try NATCase.request(family), client),
                    (.egress, try NATCase.answer(family), try NATCase.server(family)),
                ] {
                    var packet = packet
                    packet.payload = [UInt8](repeating: 1, count: 1473)
                    let outcome = try fixture.run(packet)
                    #expect(outcome.verdict == (isInStack ? .transmit : .redirect))
                    try Self.check(
                        outcome.output, from: service.address, to: sender.address, about: packet)
                    let counts = try fixture.counts(0, direction)
                    #expect(counts[LB_NAT_MESSAGE_TOO_LONG] == 1 && counts[LB_NAT_TO_STACK] == 0)
                    #expect(counts.common[.messageTooLong] == 1 && counts.common.isBalanced)
                }
            }
        }
    }

    @Test("the error quotes the ports behind options and extension headers", arguments: families)
    func manyHeaders(family: IPAddress.Family) async throws {
        try await NATRouteTests.inNetwork {
            let fixture = try Self.fixture(family)
            var packet = try NATCase.request(family)
            packet.payload = [UInt8](repeating: 1, count: 1473)
            if family == .v4 {
                // The recorded route (RFC 791); no router writes it here.
                packet.options = [7, 39, 4] + [UInt8](repeating: 0, count: 37)
            } else {
                packet.extensions = [.hopByHop, .destinationOptions]
            }
            let outcome = try fixture.run(packet)
            #expect(outcome.verdict == .redirect)
            try Self.check(
                outcome.output, from: NATCase.service(family).address,
                to: NATCase.client(family).address, about: packet)
        }
    }

    @Test("packets that may be fragmented, and super-packets, go to the stack")
    func divisible() async throws {
        try await NATRouteTests.inNetwork {
            // Packets longer than the loopback's MTU came in as super-packets.
            try Namespace.ip("link set lo mtu 1500")
            for isInStack in [false, true] {
                let fixture = try Self.fixture(.v4, isInStack: isInStack)
                var packet = try NATCase.request(.v4)
                packet.payload = [UInt8](repeating: 1, count: 1473)
                #expect(try fixture.run(packet).verdict == (isInStack ? .pass : .redirect))
                packet.mayBeCut = true
                #expect(try fixture.run(packet).verdict == .pass)
                let counts = try fixture.counts(0, .ingress)
                #expect(counts[LB_NAT_TO_STACK] == (isInStack ? 2 : 1))
            }
        }
    }

    @Test("every packet above the MTU is counted, and errors are limited per second")
    func limited() async throws {
        try await NATRouteTests.inNetwork {
            try onOneCPU { () throws in
                let fixture = try Self.fixture(.v4)
                var packet = try NATCase.request(.v4)
                packet.payload = [UInt8](repeating: 1, count: 1473)
                var told = 0
                let clock = ContinuousClock()
                let start = clock.now
                for _ in 0..<1000 {
                    if try fixture.run(packet).verdict == .redirect { told += 1 }
                }
                let seconds = Int((clock.now - start).components.seconds)
                // 250 in each second, also in the first and the last.
                #expect(told >= 250 && told <= 250 * (seconds + 2), "\(told)")
                let counts = try fixture.counts(0, .ingress)
                #expect(counts.common[.messageTooLong] == 1000 && counts.common.isBalanced)
            }
        }
    }

    /// Checks that a frame is the error about `packet`, which is too long for a link of 1500 bytes.
    private static func check(
        _ frame: [UInt8], from source: IPAddress, to destination: IPAddress, about packet: Datagram
    ) throws {
        let isV6 = source.family == .v6
        var expected = try IPPacket.error(
            isV6 ? 2 : 3, code: isV6 ? 0 : 4, rest: 1500, from: "\(source)", to: "\(destination)",
            quoting: packet.frame, bytes: isV6 ? 136 : 68)
        expected.ethernetDestination = packet.ethernetSource
        expected.ethernetSource = packet.ethernetDestination
        let whole = expected.frame
        try #require(frame.count == whole.count)
        #expect(frame[0..<14] == whole[0..<14])
        let behind = isV6 ? 22 : 26
        #expect(frame[behind...] == whole[behind...])
        if isV6 {
            #expect(frame[14..<22] == whole[14..<22])
        } else {
            #expect(Array(frame[14..<18]) == [0x45, 0xc0] + bytes(UInt16(whole.count - 14)))
            #expect(frame[22] == 64 && frame[23] == 1)
            #expect(internetChecksum(Array(frame[14..<34])) == 0)
        }
    }

    private static func fixture(
        _ family: IPAddress.Family, server: Endpoint? = nil, link: UInt32? = nil,
        isInStack: Bool = false
    ) throws -> NATFixture {
        var settings = NATFixture.Settings(isRouted: true, isInStack: isInStack)
        if let link { settings.link = link }
        let fixture = try NATFixture(settings)
        try fixture.listen(
            on: ["\(NATCase.service(family))"],
            servers: ["\(server ?? NATCase.server(family))"])
        return fixture
    }
}
