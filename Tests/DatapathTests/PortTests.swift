// SPDX-License-Identifier: Apache-2.0

import CDatapath
import FanoutCore
import Testing
import Tiers

@Suite(
    "Destinations with a shared port or their own", .tags(.network), .loadsPrograms,
    .takesFanout)
struct PortTests {
    private static let service = "192.0.2.1:514"
    private static let other = "192.0.2.2:514"

    private func fixture(_ served: [String]) throws -> TCFixture {
        let fixture = try TCFixture()
        for (number, endpoint) in served.enumerated() {
            try fixture.serve(Endpoint(parsing: endpoint), listener: UInt32(number))
        }
        for number in served.indices {
            try fixture.fill(
                listener: UInt32(number), .roundRobin, [Receiver("10.1.0.\(number + 1):5140")],
                firstRow: UInt32(number))
        }
        return fixture
    }

    private func packet(to destination: String) throws -> Datagram {
        var packet = try PacketCase.datagram(.v4)
        packet.destination = try Endpoint(parsing: destination)
        return packet
    }

    @Test(
        "one destination on a port: only that is served",
        arguments: [
            (service, TCFixture.interface, TCVerdict.redirected),
            (other, TCFixture.interface, .passed),
            (service, TCFixture.interface + 1, .passed),
            ("192.0.2.1:515", TCFixture.interface, .passed),
        ])
    func sole(destination: String, interface: UInt32, verdict: TCVerdict) throws {
        let fixture = try fixture([Self.service])
        #expect(try fixture.run(packet(to: destination).frame, on: interface).verdict == verdict)
        #expect(
            try fixture.listenerCounts().received == (verdict == .redirected ? 1 : 0))
    }

    @Test("several on a port: each goes to its own listener, all others pass")
    func shared() throws {
        let fixture = try fixture([Self.service, Self.other])
        for (number, destination) in [Self.service, Self.other].enumerated() {
            let outcome = try fixture.run(packet(to: destination))
            #expect(outcome.verdict == .redirected)
            #expect(try fixture.listenerCounts(UInt32(number)).received == 1)
        }
        #expect(try fixture.run(packet(to: "192.0.2.3:514")).verdict == .passed)
    }
}
