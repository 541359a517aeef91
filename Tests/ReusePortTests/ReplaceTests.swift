// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import ReusePortLB
import Testing

extension ReusePortTests {
    @Suite("Replacing a member")
    struct ReplaceTests {}
}

extension ReusePortTests.ReplaceTests {
    /// A member, and what its task received.
    private static func collector(
        _ group: borrowing ReusePortGroup, _ endpoint: Endpoint, replacing: Bool
    ) throws -> Task<[[UInt8]], any Error> {
        let socket = try ReusePortSocket(boundTo: endpoint, receiveBuffer: Sink.bufferBytes)
        let membership = try group.join(socket, slot: 0, replacing: replacing)
        let datagrams = membership.datagrams()
        return Task {
            var received: [[UInt8]] = []
            for try await batch in datagrams { received += batch.map(\.bytes) }
            return received
        }
    }

    @Test(
        "the new member gets the slot's packets; the old one's sequence ends by itself, and none is lost"
    )
    func sequence() async throws {
        let group = try Place().group(count: 2)
        let endpoint = try Endpoint.free()
        let first = try Self.collector(group, endpoint, replacing: false)
        let other = try ReusePortSocket(boundTo: endpoint)
        let others = try group.join(other, slot: 1)
        // A source of slot 0.
        let prediction = Prediction(count: 2)
        let source = try #require(
            IPAddress.v4Sources(64).first { prediction.slot(of: $0) == 0 })
        let sender = try Traffic(to: endpoint, from: source)
        for number in 0..<100 as Range<UInt8> { sender.send([number]) }
        let second = try Self.collector(group, endpoint, replacing: true)
        for number in 100..<200 as Range<UInt8> { sender.send([number]) }
        let early = try await first.value
        for number in 200..<250 as Range<UInt8> { sender.send([number]) }
        try await eventually("the first member has left") { try group.members().count == 2 }
        #expect(try group.members().filter { $0.slot == 0 }.map(\.generation) == [2])
        second.cancel()
        let late = try await second.value
        #expect(early == (0..<100).map { [$0] })
        #expect(late == (100..<250).map { [$0] })
        var batch = ReceiveBatch()
        #expect(try other.receive(into: &batch, waits: false) == 0)
        try others.leave()
    }

    @Test("a member that is replaced and gets its slot back keeps it")
    func back() async throws {
        let group = try Place().group(count: 1)
        let endpoint = try Endpoint.free()
        let socket = try ReusePortSocket(boundTo: endpoint)
        let membership = try group.join(socket, slot: 0)
        let sender = try Traffic(to: endpoint)
        do {
            let failing = try ReusePortSocket(boundTo: endpoint)
            let replacement = try group.join(failing, slot: 0, replacing: true)
            #expect(try membership.isReplaced() && !replacement.isReplaced())
            let members = try group.members()
            #expect(members.map(\.isPrevious) == [false, true])
            #expect(members.map(\.generation) == [2, 1])
            try replacement.leave()
        }
        #expect(try !membership.isReplaced())
        #expect(try !membership.retireIfReplaced())
        sender.send([1])
        var batch = ReceiveBatch()
        #expect(try socket.receive(into: &batch, waits: false) == 1)
        let third = try ReusePortSocket(boundTo: endpoint)
        let replacement = try group.join(third, slot: 0, replacing: true)
        let fourth = try ReusePortSocket(boundTo: endpoint)
        let error = #expect(throws: ReusePortError.self) {
            _ = try group.join(fourth, slot: 0, replacing: true)
        }
        #expect(error?.code == .slotTaken)
        #expect(try membership.retireIfReplaced())
        #expect(try group.members().map(\.generation) == [3])
        try replacement.leave()
        try membership.leave()
    }
}
