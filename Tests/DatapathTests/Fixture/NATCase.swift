// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import FanoutCore
import Synchronization
import Testing

/// A test case for one packet: a description, the frame, and the expected result.
struct NATCase: Sendable, CustomTestStringConvertible {
    enum Fate: Sendable {
        /// Translated, and sent out of the interface it came in by, as this frame.
        case translated([UInt8], NATFixture.Direction)
        /// Passed to the stack unchanged.
        case untouched(lb_nat_event)
        /// Dropped and counted with the listener.
        case dropped(lb_nat_event, DropReason, NATFixture.Direction)
        /// Dropped as malformed, without a listener to count it with.
        case malformed(lb_nat_event)
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

    typealias Bend = (inout Datagram) throws -> Void

    /// From the client to the service; it leaves for the only server.
    static func toServer(
        _ sentence: String, _ family: IPAddress.Family = .v4, _ bend: Bend = { _ in }
    ) throws -> NATCase {
        var packet = try request(family)
        try bend(&packet)
        let frame = packet.turned(destination: try server(family)).frame
        return NATCase(sentence, packet, .translated(frame, .ingress))
    }

    /// From the server to the client; it leaves as the service's.
    static func toClient(
        _ sentence: String, _ family: IPAddress.Family = .v4, _ bend: Bend = { _ in }
    ) throws -> NATCase {
        var packet = try answer(family)
        try bend(&packet)
        let frame = packet.turned(source: try service(family)).frame
        return NATCase(sentence, packet, .translated(frame, .egress))
    }

    static func untouched(
        _ sentence: String, _ event: lb_nat_event, _ family: IPAddress.Family = .v4,
        _ bend: Bend = { _ in }
    ) throws -> NATCase {
        var packet = try request(family)
        try bend(&packet)
        return NATCase(sentence, packet, .untouched(event))
    }

    static func malformed(
        _ sentence: String, _ event: lb_nat_event, _ family: IPAddress.Family = .v4, _ bend: Bend
    ) throws -> NATCase {
        var packet = try request(family)
        try bend(&packet)
        return NATCase(sentence, packet, .malformed(event))
    }

    // MARK: Who is who

    static let families = [IPAddress.Family.v4, .v6]

    static func client(_ family: IPAddress.Family) throws -> Endpoint {
        try Endpoint(parsing: family == .v4 ? "198.51.100.7:40000" : "[2001:db8:7::7]:40000")
    }

    static func service(_ family: IPAddress.Family) throws -> Endpoint {
        try Endpoint(parsing: family == .v4 ? "192.0.2.1:5683" : "[2001:db8::1]:5683")
    }

    /// On a port of its own.
    static func server(_ family: IPAddress.Family) throws -> Endpoint {
        try Endpoint(parsing: family == .v4 ? "10.1.0.1:7001" : "[2001:db8:51::1]:7001")
    }

    static func request(_ family: IPAddress.Family) throws -> Datagram {
        try Datagram(from: "\(client(family))", to: "\(service(family))")
    }

    static func answer(_ family: IPAddress.Family) throws -> Datagram {
        try Datagram(from: "\(server(family))", to: "\(client(family))")
    }

    /// One program for all cases, since the kernel takes a while to verify it; it runs one case at a time.
    private static let shared = Mutex<NATFixture?>(nil)

    /// Two listeners, each with one server of its family; at most 1000 bytes.
    private static func fixture() throws -> NATFixture {
        let fixture = try NATFixture(.init(packetMax: 1000))
        for (number, family) in families.enumerated() {
            try fixture.listen(
                UInt32(number), on: ["\(service(family))"], servers: ["\(server(family))"])
        }
        return fixture
    }

    // MARK: The check

    /// Runs the packet and compares the output, byte by byte, and the counters with the case.
    func check() throws {
        let (outcome, rows, noListener) = try Self.shared.withLock { shared in
            let fixture = try shared ?? Self.fixture()
            shared = fixture
            let before = try Self.rows(fixture)
            let noListener = try fixture.noListener()
            let outcome = try fixture.run(frame)
            return (
                outcome, zip(try Self.rows(fixture), before).map { $0 - $1 },
                try fixture.noListener() - noListener
            )
        }
        switch fate {
        case .translated(let expected, let direction):
            #expect(outcome == .init(verdict: .transmit, output: expected))
            let counts = rows[Int(direction.rawValue)]
            #expect(counts.common.received == 1 && counts.common.forwarded == 1)
            #expect(counts.common.receivedBytes == UInt64(payload))
            #expect(counts.common.forwardedBytes == UInt64(payload))
            #expect(counts.events - counts[LB_NAT_ANSWERED] == 1)
            #expect(noListener.events == 0 && rows[1 - Int(direction.rawValue)].events == 0)
        case .untouched(let event):
            #expect(outcome == .init(verdict: .pass, output: frame))
            #expect(noListener[event] == 1 && noListener.events == 1, "\(noListener)")
            #expect(rows.allSatisfy { $0.words.allSatisfy { $0 == 0 } })
        case .malformed(let event):
            #expect(outcome.verdict == .drop)
            #expect(noListener[event] == 1 && noListener.events == 1, "\(noListener)")
            #expect(rows.allSatisfy { $0.words.allSatisfy { $0 == 0 } })
        case .dropped(let event, let reason, let direction):
            #expect(outcome.verdict == .drop)
            let counts = rows[Int(direction.rawValue)]
            #expect(counts[event] == 1 && counts.events == 1, "\(counts)")
            #expect(counts.common.received == 1 && counts.common[reason] == 1)
            #expect(counts.common.isBalanced && noListener.events == 0)
        }
    }

    /// Both listeners together, a direction each.
    private static func rows(_ fixture: NATFixture) throws -> [NATCounts] {
        try NATFixture.Direction.allCases.map {
            try fixture.counts(0, $0) + fixture.counts(1, $0)
        }
    }
}
