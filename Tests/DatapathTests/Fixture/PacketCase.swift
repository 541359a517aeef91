// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import FanoutCore
import Synchronization
import Testing

/// A test case for one packet: a description, the frame, and the expected result.
struct PacketCase: Sendable, CustomTestStringConvertible {
    enum Fate: Sendable {
        /// Forwarded to the receiver as this frame.
        case forwarded([UInt8])
        /// Passed to the stack unchanged, and not counted.
        case untouched
        case dropped(DropReason)
    }

    let testDescription: String
    let frame: [UInt8]
    let fate: Fate
    /// Payload bytes that the counters should show.
    let payload: Int

    init(_ sentence: String, _ packet: Datagram, _ fate: Fate) {
        testDescription = sentence
        frame = packet.frame
        self.fate = fate
        payload = packet.payload.count
    }

    init(_ sentence: String, frame: [UInt8], _ fate: Fate) {
        testDescription = sentence
        self.frame = frame
        self.fate = fate
        payload = 0
    }

    /// A datagram that is forwarded to the only receiver; `bend` changes it before and after.
    static func forwarded(
        _ sentence: String, _ family: IPAddress.Family = .v4,
        _ bend: (inout Datagram) throws -> Void = { _ in }
    ) throws -> PacketCase {
        var packet = try datagram(family)
        try bend(&packet)
        return PacketCase(sentence, packet, .forwarded(packet.led(to: try receiver(family)).frame))
    }

    static func untouched(
        _ sentence: String, _ family: IPAddress.Family = .v4,
        _ bend: (inout Datagram) throws -> Void
    ) throws -> PacketCase {
        var packet = try datagram(family)
        try bend(&packet)
        return PacketCase(sentence, packet, .untouched)
    }

    static func dropped(
        _ sentence: String, _ reason: DropReason, _ family: IPAddress.Family = .v4,
        _ bend: (inout Datagram) throws -> Void
    ) throws -> PacketCase {
        var packet = try datagram(family)
        try bend(&packet)
        return PacketCase(sentence, packet, .dropped(reason))
    }

    static func datagram(_ family: IPAddress.Family) throws -> Datagram {
        family == .v4
            ? try Datagram(from: "198.51.100.7:40000", to: TCFixture.service4)
            : try Datagram(from: "[2001:db8:7::7]:40000", to: TCFixture.service6)
    }

    /// The IPv6 address must not raise the sum of the destination by as much as the hop limit lowers it: a
    /// missing update would then go unnoticed.
    static func receiver(_ family: IPAddress.Family) throws -> Endpoint {
        try Endpoint(parsing: family == .v4 ? "10.1.0.1:5140" : "[2001:db8:51::1]:5140")
    }

    /// One program for all cases, since the kernel takes a while to verify it; it runs one case at a time.
    private static let shared = Mutex<TCFixture?>(nil)

    /// Two listeners, each with one receiver of its family; rows 0 and 1.
    private static func fixture() throws -> TCFixture {
        let fixture = try TCFixture()
        for (number, family) in [IPAddress.Family.v4, .v6].enumerated() {
            let number = UInt32(number)
            try fixture.serve(datagram(family).destination, listener: number)
            try fixture.fill(
                listener: number, .sourceIP, [Receiver("\(receiver(family))")],
                maxPacketSize: 1000, firstRow: number)
        }
        return fixture
    }

    /// Runs the packet and compares the output, byte by byte, and the counters with the case.
    func check(isSummed: Bool = false) throws {
        let (outcome, counts) = try Self.shared.withLock { shared in
            let fixture = try shared ?? Self.fixture()
            shared = fixture
            let before = try Self.counts(fixture)
            let outcome = try fixture.run(frame, isSummed: isSummed)
            return (outcome, zip(try Self.counts(fixture), before).map { $0 - $1 })
        }
        let listener = counts[0] + counts[1]
        let receiver = counts[2] + counts[3]
        #expect(listener.isBalanced)
        switch fate {
        case .forwarded(let expected):
            #expect(outcome == .init(verdict: .redirected, output: expected))
            #expect(listener.received == 1 && listener.receivedBytes == UInt64(payload))
            for counts in [listener, receiver] {
                #expect(counts.forwarded == 1 && counts.forwardedBytes == UInt64(payload))
                #expect(counts.dropped == 0)
            }
        case .untouched:
            #expect(outcome == .init(verdict: .passed, output: frame))
            #expect((listener + receiver).words.allSatisfy { $0 == 0 })
        case .dropped(let reason):
            #expect(outcome.verdict == .dropped)
            #expect(listener.received == 1 && listener.receivedBytes == UInt64(payload))
            #expect(listener[reason] == 1 && listener.dropped == 1)
            #expect(receiver[reason] == (reason.isDownstreams ? 1 : 0))
            #expect(receiver.dropped == receiver[reason] && receiver.forwarded == 0)
        }
    }

    /// Of both listeners and of both receivers.
    private static func counts(_ fixture: TCFixture) throws -> [Counts] {
        try [
            fixture.listenerCounts(0), fixture.listenerCounts(1), fixture.receiverCounts(0),
            fixture.receiverCounts(1),
        ]
    }
}
