// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import FanoutCore
import LabNet
import Testing
import Tiers

/// Test runs come in by the loopback, whose MTU is 65536 unless a test says otherwise.
@Suite("xdp_nat in the network stack", .tags(.network), .loadsPrograms, .takesNAT)
struct NATInStackTests {
    static let families = [IPAddress.Family.v4, .v6]

    /// Bytes of payload: none, one iteration of the sum and a bit more, with every remainder.
    static let lengths = [0, 1, 2, 3, 33, 504, 505, 1017, 1400]

    @Test(
        "checksum offload is kept in both directions, on the slow path and the fast one",
        arguments: families)
    func leftToDevice(family: IPAddress.Family) throws {
        let fixture = try served(family)
        for length in Self.lengths {
            for (packet, expected) in try exchange(family) {
                var (packet, expected) = (packet, expected)
                packet.payload = Self.filler(length)
                expected.payload = Self.filler(length)
                (packet.checksum, expected.checksum) = (.leftToDevice, .leftToDevice)
                #expect(
                    try fixture.run(packet) == .init(verdict: .transmit, output: expected.frame),
                    "\(length)")
                // A tag always takes the slow path.
                (packet.tags, expected.tags) = ([0x8100], [0x8100])
                #expect(
                    try fixture.run(packet) == .init(verdict: .transmit, output: expected.frame))
            }
        }
    }

    @Test("a complete checksum is updated", arguments: families)
    func made(family: IPAddress.Family) throws {
        let fixture = try served(family)
        for length in Self.lengths {
            for (packet, expected) in try exchange(family) {
                var (packet, expected) = (packet, expected)
                packet.payload = Self.filler(length)
                expected.payload = packet.payload
                #expect(
                    try fixture.run(packet) == .init(verdict: .transmit, output: expected.frame),
                    "\(length)")
            }
        }
    }

    @Test(
        "a correct checksum equal to the pseudo header's sum is not taken for an offloaded one",
        arguments: families)
    func lookalike(family: IPAddress.Family) throws {
        let fixture = try served(family)
        for length in Self.lengths {
            for (packet, expected) in try exchange(family) {
                var (packet, expected) = (packet, expected)
                packet.payload = [0, 0] + Self.filler(length)
                var left = packet
                left.checksum = .leftToDevice
                // The word that makes the sum, with the checksum, 0xffff.
                let sums = Array(left.udp[6...7])
                packet.payload.replaceSubrange(
                    0..<2, with: bytes(internetChecksum(sums + left.udp)))
                try #require(Array(packet.udp[6...7]) == sums)
                expected.payload = packet.payload
                #expect(
                    try fixture.run(packet) == .init(verdict: .transmit, output: expected.frame),
                    "\(length)")
            }
        }
    }

    @Test("checksum offload of a segment is kept", arguments: families)
    func segment(family: IPAddress.Family) throws {
        let fixture = try served(family, protocolNumber: 6)
        let (client, service) = (try NATCase.client(family), try NATCase.service(family))
        let server = try NATCase.server(family)
        for leavesChecksum in [true, false] {
            for (packet, expected) in [
                (
                    IPPacket.segment(from: client, to: service),
                    IPPacket.segment(from: client, to: server)
                ),
                (
                    IPPacket.segment(from: server, to: client),
                    IPPacket.segment(from: service, to: client)
                ),
            ] {
                var (packet, expected) = (packet, expected.turned())
                packet.leavesChecksum = leavesChecksum
                expected.leavesChecksum = leavesChecksum
                #expect(
                    try fixture.run(packet.frame)
                        == .init(verdict: .transmit, output: expected.frame))
            }
        }
    }

    @Test("in a driver every checksum counts as complete")
    func inDriver() throws {
        let fixture = try served(.v4, isInStack: false)
        var packet = try NATCase.request(.v4)
        packet.checksum = .leftToDevice
        var expected = packet.turned(destination: try NATCase.server(.v4))
        #expect(try fixture.run(packet).output != expected.frame)
        packet.checksum = .right
        expected.checksum = .right
        #expect(try fixture.run(packet).output == expected.frame)
    }

    @Test("segments have no size limit, in the stack or in a driver", arguments: [true, false])
    func segments(isInStack: Bool) throws {
        let fixture = try served(.v4, protocolNumber: 6, isInStack: isInStack)
        var packet = IPPacket.segment(from: try NATCase.client(.v4), to: try NATCase.service(.v4))
        packet.body += Self.filler(3001)
        #expect(try fixture.run(packet.frame).verdict == .transmit)
    }

    @Test("a packet that the stack merged is not an oversize datagram", arguments: families)
    func aggregate(family: IPAddress.Family) async throws {
        try await Namespace.run(["link set lo mtu 2500", "link set lo up"]) {
            for isInStack in [true, false] {
                let fixture = try served(family, isInStack: isInStack)
                let headers = family == .v4 ? 28 : 48
                // The longest allowed; longer, and a packet of the link; longer than the link's MTU.
                for (length, passes) in [
                    (2000, true), (2001, false), (2500 - headers, false),
                    (2501 - headers, isInStack), (3001, isInStack),
                ] {
                    var packet = try NATCase.request(family)
                    packet.payload = Self.filler(length)
                    packet.checksum = isInStack ? .leftToDevice : .right
                    let outcome = try fixture.run(packet)
                    let expected = packet.turned(destination: try NATCase.server(family))
                    #expect(
                        passes
                            ? outcome == .init(verdict: .transmit, output: expected.frame)
                            : outcome.verdict == .drop, "\(length)")
                }
                #expect(
                    try fixture.counts(0, .ingress)[LB_NAT_OVERSIZE] == (isInStack ? 2 : 4))
            }
        }
    }

    private static func filler(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
    }

    /// A request and its reply, each with its outcome.
    private func exchange(_ family: IPAddress.Family) throws -> [(Datagram, Datagram)] {
        let (request, answer) = (try NATCase.request(family), try NATCase.answer(family))
        return try [
            (request, request.turned(destination: NATCase.server(family))),
            (answer, answer.turned(source: NATCase.service(family))),
        ]
    }

    private func served(
        _ family: IPAddress.Family, protocolNumber: UInt8 = 17, isInStack: Bool = true
    ) throws -> NATFixture {
        let fixture = try NATFixture(
            .init(takesTCP: protocolNumber == 6, isInStack: isInStack, packetMax: 2000))
        try fixture.listen(
            on: ["\(NATCase.service(family))"], servers: ["\(NATCase.server(family))"],
            protocolNumber: protocolNumber)
        return fixture
    }
}
