// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import FanoutCore
import GoldenVectors
import Testing
import Tiers

@Suite("Garbage in xdp_steer", .tags(.network), .loadsPrograms, .takesSteering)
struct SteerMutationTests {
    @Test("5000 mutated packets: a socket gets the listener's datagrams, and nothing else")
    func some() throws { try run(Garbage.some, seed: 11) }

    @Test(
        "20 000 mutated packets: a socket gets the listener's datagrams, and nothing else",
        .tags(.exhaustive), arguments: [12, 13])
    func many(seed: UInt64) throws { try run(Garbage.many, seed: seed) }

    private func run(_ count: Int, seed: UInt64) throws {
        let services = try [TCFixture.service4, TCFixture.service6].map(Endpoint.init(parsing:))
        let originals = try [IPAddress.Family.v4, .v6].flatMap { family in
            var datagram = try PacketCase.datagram(family)
            datagram.ethernetDestination = SteerFixture.mac
            return try Garbage.kinds(of: datagram)
        }
        var random = SplitMix64(seed: seed)
        var steered = 0
        for number in 0..<count {
            let frame = Garbage.mutate(originals[number % originals.count], &random)
            let reading = FrameReading(frame, mac: SteerFixture.mac)
            let isOurs =
                reading.map {
                    $0.kind == .datagram && !$0.isFromLoopback && services.contains($0.destination)
                } ?? false
            let verdict = try SteerCase.verdict(frame)
            #expect(verdict == (isOurs ? .redirect : .pass), "packet \(number): \(frame)")
            steered += isOurs ? 1 : 0
        }
        #expect(steered > count / 10 && steered < count * 9 / 10, "\(steered)")
    }
}
