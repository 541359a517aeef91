// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import ReusePortLB
import Testing

extension ReusePortTests {
    @Suite("TCP groups")
    struct TCPTests {}
}

extension ReusePortTests.TCPTests {
    static func checkSources(_ sources: [IPAddress], on address: IPAddress) throws {
        let group = try Place().group(count: 3)
        let listeners = try Listeners(count: 3, on: try .free(on: address))
        let first = try group.join(descriptor: listeners.descriptor(0), slot: 0)
        let second = try group.join(descriptor: listeners.descriptor(1), slot: 1)
        let third = try group.join(descriptor: listeners.descriptor(2), slot: 2)
        let prediction = Prediction(count: 3)
        for _ in 0..<2 {
            for source in sources { _ = try connection(from: source, to: listeners.endpoint) }
        }
        for slot in 0..<3 {
            let expected = sources.filter { prediction.slot(of: $0) == slot }
            #expect(try Set(listeners.accept(slot)) == Set(expected), "slot \(slot)")
            #expect(try group.counters(slot: slot).selected == UInt64(expected.count * 2))
        }
        #expect(try Sums(group) == Sums(selected: UInt64(sources.count * 2)))
        #expect(try group.members().map(\.transport) == [.tcp, .tcp, .tcp])
        try first.leave()
        try second.leave()
        try third.leave()
    }

    @Test("IPv4: the program sends a source's connections to the listener in the table")
    func v4() throws { try Self.checkSources(IPAddress.v4Sources(32), on: .loopback) }

    @Test("IPv6: the program sends a source's connections to the listener in the table")
    func v6() async throws {
        try await withV6Sources {
            try Self.checkSources(
                IPAddress.v6Sources(32), on: IPAddress(high: 0xfd00_0000_0000_0000, low: 1))
        }
    }

    @Test("UDP and TCP members of one group have the same slots, independently")
    func both() throws {
        let group = try Place().group(count: 1)
        let listeners = try Listeners(count: 1, on: try .free())
        let stream = try group.join(descriptor: listeners.descriptor(0), slot: 0)
        let members = try Members(group, count: 1, on: listeners.endpoint)
        try Spray(to: members.endpoint).send(from: IPAddress.v4Sources(5))
        _ = try connection(from: .loopback, to: listeners.endpoint)
        #expect(try members.arrivals().count == 5)
        #expect(try listeners.accept(0) == [.loopback])
        #expect(try group.members().map(\.transport) == [.udp, .tcp])
        #expect(try Sums(group) == Sums(selected: 6))
        try stream.leave()
    }
}
