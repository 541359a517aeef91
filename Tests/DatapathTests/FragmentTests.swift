// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

/// Datagrams in three fragments, to two round-robin listeners: if each fragment chose a receiver, they would part.
@Suite("Fragments in tc_fanout", .tags(.network), .loadsPrograms, .takesFanout)
struct FragmentTests {
    static let families = [IPAddress.Family.v4, .v6]

    @Test("fragments in order go to one receiver and count as one datagram", arguments: families)
    func inOrder(family: IPAddress.Family) throws {
        let fixture = try TCFixture.withBothFamilies()
        for number in 0..<6 {
            let whole = try datagram(family)
            let expected = try whole.led(to: receivers(family)[number % 3])
            let sent = fragments(of: whole, UInt32(number))
            let left = fragments(of: expected, UInt32(number))
            for (fragment, expected) in zip(sent, left) {
                let outcome = try onOneCPU { try fixture.run(fragment) }
                #expect(outcome == .init(verdict: .redirected, output: expected.frame))
            }
        }
        let counts = try fixture.listenerCounts(family == .v4 ? 0 : 1)
        #expect(counts.received == 6 && counts.forwarded == 6)
        #expect(counts.receivedBytes == 6 * 60 && counts.forwardedBytes == 6 * 60)
    }

    @Test(
        "when a later fragment comes first, the whole datagram goes to the stack, uncounted",
        arguments: families)
    func laterFirst(family: IPAddress.Family) throws {
        let fixture = try TCFixture.withBothFamilies()
        let parts = fragments(of: try datagram(family), 77)
        for fragment in [parts[1], parts[0], parts[2]] {
            let outcome = try fixture.run(fragment)
            #expect(outcome == .init(verdict: .passed, output: fragment.frame))
        }
        #expect(try fixture.listenerCounts(family == .v4 ? 0 : 1).words.allSatisfy { $0 == 0 })
        let next = try fixture.run(fragments(of: try datagram(family), 78)[0])
        #expect(next.verdict == .redirected)
    }

    @Test("the last fragment before the middle one follows too", arguments: families)
    func swapped(family: IPAddress.Family) throws {
        let fixture = try TCFixture.withBothFamilies()
        let whole = try datagram(family)
        let left = fragments(of: whole.led(to: try receivers(family)[0]), 5)
        for place in [0, 2, 1] {
            let outcome = try fixture.run(fragments(of: whole, 5)[place])
            #expect(outcome == .init(verdict: .redirected, output: left[place].frame))
        }
    }

    @Test(
        "fragments of a dropped datagram are dropped and not counted", arguments: families)
    func dropped(family: IPAddress.Family) throws {
        let fixture = try TCFixture.withBothFamilies(maxPacketSize: 59)
        for fragment in fragments(of: try datagram(family), 5) {
            #expect(try fixture.run(fragment).verdict == .dropped)
        }
        let counts = try fixture.listenerCounts(family == .v4 ? 0 : 1)
        #expect(counts.received == 1 && counts[.oversize] == 1 && counts.dropped == 1)
    }

    @Test("a later fragment follows a receiver that has left the table", arguments: families)
    func tableChanged(family: IPAddress.Family) throws {
        let fixture = try TCFixture.withBothFamilies()
        let whole = try datagram(family)
        let left = fragments(of: whole.led(to: try receivers(family)[0]), 5)
        #expect(try fixture.run(fragments(of: whole, 5)[0]).verdict == .redirected)
        try fixture.fill(listener: family == .v4 ? 0 : 1, .roundRobin, [])
        let outcome = try fixture.run(fragments(of: whole, 5)[1])
        #expect(outcome == .init(verdict: .redirected, output: left[1].frame))
    }

    @Test("a reused identification is another datagram", arguments: families)
    func identificationAgain(family: IPAddress.Family) throws {
        let fixture = try TCFixture.withBothFamilies()
        let whole = try datagram(family)
        for number in 0..<3 {
            let left = fragments(of: whole.led(to: try receivers(family)[number]), 5)
            for (fragment, expected) in zip(fragments(of: whole, 5), left) {
                let outcome = try onOneCPU { try fixture.run(fragment) }
                #expect(outcome == .init(verdict: .redirected, output: expected.frame))
            }
        }
    }

    @Test("a fragment to an address that no listener serves passes", arguments: families)
    func elsewhere(family: IPAddress.Family) throws {
        let fixture = try TCFixture.withBothFamilies()
        var whole = try datagram(family)
        whole.destination = Endpoint(
            try .parsed(family == .v4 ? "192.0.2.9" : "2001:db8::9"), port: 514)
        for fragment in fragments(of: whole, 3) + fragments(of: whole, 3).reversed() {
            let outcome = try fixture.run(fragment)
            #expect(outcome == .init(verdict: .passed, output: fragment.frame))
        }
    }

    @Test("a first fragment without a receiver is counted once, and the later ones are dropped")
    func noReceiver() throws {
        let fixture = try TCFixture.withBothFamilies()
        try fixture.fill(.roundRobin, [])
        for fragment in fragments(of: try datagram(.v4), 5) {
            #expect(try fixture.run(fragment).verdict == .dropped)
        }
        let counts = try fixture.listenerCounts()
        #expect(counts.received == 1 && counts[.noHealthy] == 1 && counts.dropped == 1)
    }

    @Test(
        "a payload key within the first fragment counts, one beyond it does not",
        arguments: families, [UInt16(12), 14])
    func payloadKey(family: IPAddress.Family, offset: UInt16) throws {
        let fixture = try TCFixture.withBothFamilies()
        let receivers = try Receiver.three(family)
        let key = PayloadKey(offset: offset, length: 4)
        try fixture.fill(listener: family == .v4 ? 0 : 1, .payload, receivers, payload: key)
        let whole = try datagram(family)
        // 16 bytes of the payload are in the first fragment.
        let hash = FlowKey.payload(
            Array(whole.payload.prefix(16)), key, source: whole.source,
            destination: whole.destination)
        let fourTuple = FlowKey.fourTuple(source: whole.source, destination: whole.destination)
        #expect((hash == fourTuple) == (offset == 14))
        let table = Balance.payload.slotTable(for: receivers.map(\.downstream), capacity: 8)
        let owner = receivers[try #require(table.owner(of: hash))].endpoint
        let left = fragments(of: whole.led(to: owner), 5)
        for (fragment, expected) in zip(fragments(of: whole, 5), left) {
            let outcome = try fixture.run(fragment.frame + [UInt8](repeating: 0xa5, count: 30))
            #expect(outcome.verdict == .redirected)
            #expect(outcome.output.starts(with: expected.frame))
        }
    }

    private func datagram(_ family: IPAddress.Family) throws -> Datagram {
        var datagram = try PacketCase.datagram(family)
        datagram.payload = (0..<60).map { UInt8($0) }
        return datagram
    }

    private func receivers(_ family: IPAddress.Family) throws -> [Endpoint] {
        try Receiver.three(family).map(\.endpoint).sorted()
    }

    private func fragments(of whole: Datagram, _ identification: UInt32) -> [Datagram] {
        [0..<24, 24..<48, 48..<68].map { range in
            var part = whole
            part.fragment = Datagram.Fragment(
                identification: identification, range: range, isLast: range.upperBound == 68)
            return part
        }
    }
}
