// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

/// Test runs come in by the loopback, whose own address is all zeros.
@Suite("Frames that xdp_nat accepts", .tags(.network), .loadsPrograms, .takesNAT)
struct NATLinkTests {
    static let families = [IPAddress.Family.v4, .v6]

    @Test(
        "a frame for another host passes untouched, whatever its content",
        arguments: families, [false, true])
    func foreign(family: IPAddress.Family, inStack: Bool) throws {
        let lab = try NATLab(family, .init(isInStack: inStack))
        try lab.request(0)
        try lab.answer(0, to: 0)
        let request = try Datagram(from: "\(lab.client(0))", to: "\(lab.service)")
        let answer = try Datagram(from: "\(lab.server(0))", to: "\(lab.client(0))")
        var fragment = request
        fragment.fragment = .init(identification: 7, range: 0..<16, isLast: false)
        var malformed = request
        malformed.udpLength = 7
        let quoted = try Datagram(from: "\(lab.client(0))", to: "\(lab.server(0))")
        let error = try IPPacket.error(
            family == .v4 ? 3 : 1, code: 4, from: "\(lab.server(0).address)",
            to: "\(lab.client(0).address)", quoting: quoted.frame)
        let before = try lab.fixture.noListener()
        let frames = [request, answer, fragment, malformed].map(\.frame) + [error.frame]
        for mac in [[2, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1], [0, 2, 0, 0, 0, 0]] as [[UInt8]] {
            for frame in frames {
                let frame = mac + frame.dropFirst(6)
                #expect(try lab.fixture.run(frame) == .init(verdict: .pass, output: frame))
            }
        }
        let after = try lab.fixture.noListener() - before
        #expect(after[LB_NAT_UNHANDLED_TRAFFIC] == 15 && after.events == 15)
        #expect(try lab.fixture.counts(0, .ingress).common.received == 1)
        #expect(try lab.fixture.counts(0, .egress).common.received == 1)
    }

    @Test("when the interface gets another address, frames to the old one pass")
    func changed() throws {
        let lab = try NATLab(.v4)
        var request = try Datagram(from: "\(lab.client(0))", to: "\(lab.service)")
        #expect(try lab.fixture.run(request).verdict == .transmit)
        try lab.fixture.hook(NATFixture.loopback, mac: 9)
        #expect(try lab.fixture.run(request).verdict == .pass)
        request.ethernetDestination[5] = 9
        #expect(try lab.fixture.run(request).verdict == .transmit)
    }

    @Test("interfaces that share a place are all known")
    func crowded() throws {
        let lab = try NATLab(.v4)
        let places = UInt32(LB_NAT_HOOKS)
        let request = try Datagram(from: "\(lab.client(0))", to: "\(lab.service)")
        for taken in 1...3 as ClosedRange<UInt32> {
            try lab.fixture.hook(NATFixture.loopback + places * taken, mac: 9, place: taken)
            try lab.fixture.hook(NATFixture.loopback, mac: 9, place: taken + 1)
            #expect(try lab.fixture.run(request).verdict == .pass)
            try lab.fixture.hook(NATFixture.loopback, place: taken + 1)
            #expect(try lab.fixture.run(request).verdict == .transmit)
        }
    }

    @Test(
        "a frame from an interface below the hooked one, as in a bond, has any unicast address")
    func below() throws {
        let lab = try NATLab(.v4, .init(from: 77))
        try lab.fixture.unhook(place: NATFixture.loopback)
        var request = try Datagram(from: "\(lab.client(0))", to: "\(lab.service)")
        request.ethernetDestination = [2, 0, 0, 0, 0, 1]
        #expect(try lab.fixture.run(request).verdict == .transmit)
        #expect(try lab.answer(0, to: 0) == lab.service)
        request.ethernetDestination = [3, 0, 0, 0, 0, 1]
        #expect(try lab.fixture.run(request).verdict == .pass)
    }
}
