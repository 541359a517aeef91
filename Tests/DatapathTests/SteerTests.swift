// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import FanoutCore
import Synchronization
import Testing
import Tiers

/// A test case for one packet: a description, the frame, and whether a socket gets it.
struct SteerCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let frame: [UInt8]

    init(
        _ sentence: String, _ family: IPAddress.Family = .v4,
        _ bend: (inout Datagram) throws -> Void = { _ in }
    ) throws {
        var packet = try PacketCase.datagram(family)
        packet.ethernetDestination = SteerFixture.mac
        try bend(&packet)
        self.init(sentence, frame: packet.frame)
    }

    init(_ sentence: String, frame: [UInt8]) {
        testDescription = sentence
        self.frame = frame
    }

    private static let shared = Mutex<SteerFixture?>(nil)

    /// One program for all cases, with one listener a family.
    static func verdict(_ frame: [UInt8], queue: UInt32 = 0) throws -> XDPVerdict? {
        try shared.withLock { shared in
            let fixture = try shared ?? SteerFixture()
            if shared == nil {
                for service in [TCFixture.service4, TCFixture.service6] {
                    try fixture.serve(Endpoint(parsing: service))
                }
            }
            shared = fixture
            return try fixture.verdict(frame, queue: queue)
        }
    }
}

@Suite("Packets that xdp_steer redirects", .tags(.network), .loadsPrograms, .takesSteering)
struct SteerTests {
    @Test("goes to the socket of its queue", arguments: try taken())
    func steered(packet: SteerCase) throws {
        #expect(try SteerCase.verdict(packet.frame) == .redirect)
    }

    static func taken() throws -> [SteerCase] {
        try [
            SteerCase("a datagram"), SteerCase("a datagram over IPv6", .v6),
            SteerCase("an empty datagram") { $0.payload = [] },
            SteerCase("a datagram without a checksum") { $0.checksum = .absent },
            SteerCase("a datagram with TTL 1, which the worker drops and counts") {
                $0.timeToLive = 1
            },
            SteerCase("a datagram behind a priority tag") { $0.tags = [0x8100] },
            SteerCase("a datagram behind a priority tag over IPv6", .v6) { $0.tags = [0x8100] },
            SteerCase("a datagram behind two priority tags") { $0.tags = [0x88a8, 0x8100] },
            SteerCase("a datagram with IPv4 options") { $0.options = [1, 148, 4, 0, 0, 7, 3, 4] },
            SteerCase("a datagram behind extension headers", .v6) {
                $0.extensions = [.hopByHop, .destinationOptions, .routing(segmentsLeft: 0)]
            },
            SteerCase("a datagram in a padded frame") { $0.padding = 18 },
            SteerCase("a datagram that is shorter than its packet") { $0.udpLength = 20 },
            SteerCase("a datagram that just fits a frame") {
                $0.payload = [UInt8](repeating: 7, count: SteerFixture.longest - 42)
            },
        ]
    }

    @Test("a packet of a queue without a socket passes")
    func otherQueue() throws {
        let frame = try SteerCase("").frame
        #expect(try SteerCase.verdict(frame, queue: 0) == .redirect)
        #expect(try SteerCase.verdict(frame, queue: 1) == .pass)
    }

    @Test("when its socket is closed, a packet passes")
    func closedSocket() throws {
        let frame = try SteerCase("").frame
        // The socket closes with its fixture; a map does not keep it open.
        let fixture = try SteerFixture()
        try fixture.serve(Endpoint(parsing: TCFixture.service4))
        #expect(try fixture.verdict(frame) == .redirect)
        fixture.closeSocket()
        #expect(try fixture.verdict(frame) == .pass)
    }

    @Test("a listener for every address matches by port only")
    func servesAny() throws {
        let fixture = try SteerFixture(servesAny: true)
        try fixture.serve(Endpoint(parsing: TCFixture.service4), any: true)
        let elsewhere = try SteerCase("") { packet in
            packet.destination = Endpoint(try .parsed("203.0.113.77"), port: 514)
        }
        #expect(try fixture.verdict(elsewhere.frame) == .redirect)
        #expect(try fixture.verdict(try SteerCase("", .v6).frame) == .redirect)
        let otherPort = try SteerCase("") { packet in
            packet.destination = Endpoint(packet.destination.address, port: 515)
        }
        #expect(try fixture.verdict(otherPort.frame) == .pass)
    }

    @Test("everything passes before user space sets a listener")
    func nothingKnown() throws {
        let fixture = try SteerFixture(longest: 0)
        try fixture.serve(Endpoint(parsing: TCFixture.service4))
        #expect(try fixture.verdict(try SteerCase("").frame) == .pass)
    }
}
