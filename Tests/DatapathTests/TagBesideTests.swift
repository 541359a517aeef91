// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import FanoutCore
import Testing
import Tiers

@Suite(
    "Tags in the metadata of a packet", .tags(.network), .loadsPrograms, .takesFanout)
struct TagBesideTests {
    @Test(
        "of a priority only are removed with those in the frame, up to two of them",
        arguments: [IPAddress.Family.v4, .v6], [[0x8100], [0x88a8, 0x8100]] as [[UInt16]])
    func untagged(family: IPAddress.Family, tags: [UInt16]) throws {
        let fixture = try TCFixture.withBothFamilies()
        let vlans = tags.map { _ in UInt16(0) }
        let tag = try TagBeside(tags, vlans: vlans, before: fixture.program)
        let datagram = try PacketCase.datagram(family)
        let receiver = try Receiver.three(family).map(\.endpoint).sorted()[0]
        let run = try tag.program.testRun(
            data: datagram.frame, buffer: SocketBuffer(ingressInterface: TCFixture.interface))
        #expect(run.verdict == TCVerdict.redirected.rawValue)
        #expect(run.output == datagram.led(to: receiver).frame)
        #expect(try fixture.listenerCounts(family == .v4 ? 0 : 1).forwarded == 1)
    }

    @Test(
        "of a VLAN pass the packet to the VLAN's interface, uncounted",
        arguments: [IPAddress.Family.v4, .v6], [[100], [0, 100], [100, 0]] as [[UInt16]])
    func inVLAN(family: IPAddress.Family, vlans: [UInt16]) throws {
        let fixture = try TCFixture.withBothFamilies()
        let tags = Array([0x88a8, 0x8100].suffix(vlans.count)) as [UInt16]
        let tag = try TagBeside(tags, vlans: vlans, before: fixture.program)
        let run = try tag.program.testRun(
            data: PacketCase.datagram(family).frame,
            buffer: SocketBuffer(ingressInterface: TCFixture.interface))
        #expect(run.verdict == TCVerdict.passed.rawValue)
        #expect(try fixture.listenerCounts(family == .v4 ? 0 : 1).received == 0)
    }
}
