// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import LabNet
import Testing
import Tiers

@Suite("How tc_fanout reaches its receivers", .tags(.network), .loadsPrograms, .takesFanout)
struct PathTests {
    static let families = [IPAddress.Family.v4, .v6]

    @Test("a packet to the stack keeps its TTL, since the stack lowers it", arguments: families)
    func stack(family: IPAddress.Family) throws {
        let fixture = try fixture(family, LB_PATH_STACK)
        for timeToLive in [1, 64] as [UInt8] {
            var packet = try PacketCase.datagram(family)
            packet.timeToLive = timeToLive
            var expected = packet.led(to: try PacketCase.receiver(family))
            expected.timeToLive = timeToLive
            let outcome = try fixture.run(packet, isSummed: true)
            #expect(outcome == .init(verdict: .passed, output: expected.frame))
        }
        #expect(try fixture.listenerCounts().forwarded == 2)
    }

    @Test("a frame to a veth's peer has the peer's hardware address", arguments: families)
    func peer(family: IPAddress.Family) throws {
        let fixture = try fixture(family, LB_PATH_PEER)
        let packet = try PacketCase.datagram(family)
        var expected = packet.led(to: try PacketCase.receiver(family))
        expected.ethernetDestination = [2, 0, 0, 0, 0, 3]
        let outcome = try fixture.run(packet, isSummed: true)
        #expect(outcome == .init(verdict: .redirected, output: expected.frame))
    }

    @Test("a datagram above the route's MTU goes to the stack, addressed to the receiver")
    func tooLong() throws {
        let fixture = try fixture(.v4, LB_PATH_NEIGH, mtu: 128)
        var packet = try PacketCase.datagram(.v4)
        packet.payload = [UInt8](repeating: 1, count: 100)
        #expect(try fixture.run(packet).verdict == .redirected)
        packet.payload += [1]
        var expected = packet.led(to: try PacketCase.receiver(.v4))
        expected.timeToLive += 1
        #expect(try fixture.run(packet) == .init(verdict: .passed, output: expected.frame))
        // For a super-packet the size of its segments counts.
        packet.payload = [UInt8](repeating: 1, count: 400)
        let cut = try fixture.run(packet.frame, segmentBytes: 100, segments: 4)
        #expect(cut.verdict == .redirected)
        let uncut = try fixture.run(packet.frame, segmentBytes: 101, segments: 4)
        #expect(uncut.verdict == .passed)
        #expect(try fixture.listenerCounts().forwarded == 10)
    }

    @Test("a looked-up route forwards; without a destination it drops and counts")
    func lookedUp() async throws {
        let commands = [
            "link set lo up", "link add near type veth peer name far",
            "addr add 10.1.0.254/24 dev near", "link set near up", "link set far up",
            "-6 addr add 2001:db8:51::254/64 dev near nodad",
            "route add unreachable 10.2.0.0/16", "route add blackhole 10.3.0.0/16",
            "route add prohibit 10.4.0.0/16", "-6 route add unreachable 2001:db8:2::/64",
        ]
        try await Namespace.run(commands) {
            for variable in ["ipv4/conf/all/forwarding", "ipv6/conf/all/forwarding"] {
                try Namespace.set(variable, to: "1")
            }
            for (address, verdict, reason) in [
                ("10.1.0.1", TCVerdict.redirected, DropReason?.none),
                ("10.2.0.1", .dropped, .unreachable), ("10.3.0.1", .dropped, .unreachable),
                ("10.4.0.1", .dropped, .notPermitted),
                // Cases for the stack: an address of this host, and no route at all.
                ("10.1.0.254", .passed, nil),
                ("2001:db8:51::1", .redirected, nil), ("2001:db8:2::1", .dropped, .unreachable),
                ("2001:db8:51::254", .passed, nil),
            ] {
                try Self.lookUp(.parsed(address), verdict, reason)
            }
        }
    }

    @Test("the stack gets only packets that it will forward")
    func byStack() async throws {
        let commands = [
            "link set lo up", "link add near type veth peer name far",
            "addr add 10.1.0.254/24 dev near", "link set near up mtu 1300",
        ]
        try await Namespace.run(commands) {
            for (forwarding, timeToLive, payload, mayBeCut, address, reason) in [
                ("1", 64, 20, false, "10.1.0.1", DropReason?.none),
                ("1", 64, 1300, true, "10.1.0.1", nil),
                ("1", 64, 1300, false, "10.1.0.1", .messageTooLong),
                ("0", 64, 20, false, "10.1.0.1", .unreachable),
                ("1", 1, 20, false, "10.1.0.1", .ttlExpired),
                ("1", 64, 20, false, "10.9.0.1", .unreachable),
            ] as [(String, UInt8, Int, Bool, String, DropReason?)] {
                try Namespace.set("ipv4/conf/all/forwarding", to: forwarding)
                let fixture = try TCFixture()
                var receiver = try Receiver("\(address):5140")
                (receiver.path, receiver.isRemote) = (LB_PATH_STACK, true)
                var packet = try PacketCase.datagram(.v4)
                (packet.timeToLive, packet.mayBeCut) = (timeToLive, mayBeCut)
                packet.payload = [UInt8](repeating: 1, count: payload)
                try fixture.serve(packet.destination, on: 1)
                try fixture.fill(.sourceIP, [receiver])
                let outcome = try fixture.run(packet.frame, on: 1)
                let counts = try fixture.receiverCounts(0)
                if let reason {
                    #expect(outcome.verdict == .dropped && counts[reason] == 1)
                } else {
                    var expected = packet.led(to: receiver.endpoint)
                    expected.timeToLive = timeToLive
                    #expect(outcome == .init(verdict: .passed, output: expected.frame))
                    #expect(counts.forwarded == 1)
                }
            }
        }
    }

    private static func lookUp(
        _ address: IPAddress, _ verdict: TCVerdict, _ reason: DropReason?
    ) throws {
        let fixture = try TCFixture()
        let family = address.family
        var receiver = try Receiver("\(Endpoint(address, port: 5140))")
        receiver.path = LB_PATH_FIB
        var packet = try PacketCase.datagram(family)
        try fixture.serve(packet.destination, on: 1)
        try fixture.fill(.sourceIP, [receiver])
        // The stack drops a datagram from another source address that comes by the loopback, so it ends here.
        packet.trafficClass = 0x10
        let outcome = try fixture.run(packet.frame, on: 1)
        #expect(outcome.verdict == verdict, "\(address)")
        let counts = try fixture.listenerCounts()
        #expect(counts.received == 1 && counts.isBalanced, "\(address)")
        if let reason {
            #expect(try fixture.receiverCounts(0)[reason] == 1, "\(address)")
        } else {
            #expect(counts.forwarded == 1, "\(address)")
            var expected = packet.led(to: receiver.endpoint)
            if verdict == .passed { expected.timeToLive += 1 }
            #expect(outcome.output == expected.frame, "\(address)")
        }
    }

    private func fixture(
        _ family: IPAddress.Family, _ path: lb_path, mtu: UInt32 = 0
    ) throws -> TCFixture {
        let fixture = try TCFixture()
        var receiver = try Receiver("\(PacketCase.receiver(family))")
        receiver.path = path
        receiver.mtu = mtu
        try fixture.serve(PacketCase.datagram(family).destination)
        try fixture.fill(.sourceIP, [receiver])
        return fixture
    }
}
