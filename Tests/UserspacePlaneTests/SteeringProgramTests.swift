// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LinuxNet
import Testing
import Tiers

@testable import UserspacePlane

/// The steering program, run by an interpreter and compared with a plain implementation of the same hash.
@Suite("The steering program", .tags(.network))
struct SteeringProgramTests {
    /// The slot of a source, as the decision describes it.
    private static func place(_ words: [UInt32], of workers: Int) -> UInt32 {
        words.reduce(0 as UInt32) { mixed($0 ^ $1) } % UInt32(workers)
    }

    /// fmix32 of MurmurHash3.
    private static func mixed(_ word: UInt32) -> UInt32 {
        var hash = word
        hash ^= hash >> 16
        hash &*= 0x85eb_ca6b
        hash ^= hash >> 13
        hash &*= 0xc2b2_ae35
        return hash ^ hash >> 16
    }

    @Test("mixes as MurmurHash3 does")
    func knownValues() {
        #expect(Self.mixed(0) == 0)
        #expect(Self.mixed(1) == 0x514e_28b7)
        #expect(Self.mixed(2) == 0x30f4_c306)
    }

    static let counts = [1, 2, 3, 4, 7, 16, 255, 256]

    @Test("gives an IPv4 source the slot of its mixed address", arguments: counts)
    func v4(workers: Int) throws {
        let program = SteeringProgram.sourceIP(workers: workers)
        var generator = SystemRandomNumberGenerator()
        for address in [0, 1, 0x7f00_0001, .max]
            + (0..<200).map({ _ in UInt32.random(in: 0 ... .max, using: &generator) })
        {
            let packet = Packet(v4: address)
            #expect(
                try Machine.run(program, on: packet) == Self.place([address], of: workers),
                "source \(IPAddress(v4: address))")
        }
    }

    @Test(
        "gives an IPv6 source the slot of its four words, mixed one after the other",
        arguments: counts)
    func v6(workers: Int) throws {
        let program = SteeringProgram.sourceIP(workers: workers)
        var generator = SystemRandomNumberGenerator()
        let random = (0..<200).map { _ in
            (0..<4).map { _ in UInt32.random(in: 0 ... .max, using: &generator) }
        }
        for words in [[0, 0, 0, 1], [0x2001_0db8, 0, 0, 1], [0x2001_0db8, 0, 1, 0]] + random {
            #expect(
                try Machine.run(program, on: Packet(v6: words)) == Self.place(words, of: workers),
                "source \(words)")
        }
    }

    @Test("gives a CPU the slot of its number", arguments: counts)
    func cpu(workers: Int) throws {
        for cpu in [0, 1, 2, 7, 255, 256, 1023] as [UInt32] {
            let slot = try Machine.run(
                SteeringProgram.cpu(workers: workers), on: Packet(v4: 1), cpu: cpu)
            #expect(slot == cpu % UInt32(workers))
        }
    }

    @Test("distinguishes addresses with the same digits in another order")
    func order() throws {
        let program = SteeringProgram.sourceIP(workers: 256)
        let turned = (0..<4).map { shift in (0..<4).map { UInt32(($0 + shift) % 4 + 1) } }
        let places = try turned.map { try Machine.run(program, on: Packet(v6: $0)) }
        #expect(Set(places).count == 4)
    }

    @Test("leaves other packets to the kernel, by an index outside of every group")
    func others() throws {
        for type in [UInt16(0), 0x0806, 0x8100, 0xffff] {
            let packet = Packet(etherType: type, bytes: [UInt8](repeating: 1, count: 40))
            #expect(
                try Machine.run(SteeringProgram.sourceIP(workers: 4), on: packet) == .max)
        }
    }

    @Test("loads for every number of workers")
    func accepted() throws {
        for workers in 1...256 {
            let socket = try Socket(family: AF_INET, type: Int32(SOCK_DGRAM.rawValue))
            try socket.bind(to: Endpoint(IPAddress(v4: 0x7f00_0001), port: 0), sharing: .joining)
            try ReuseportGroup(member: socket.descriptor)
                .attach(SteeringProgram.sourceIP(workers: workers))
        }
    }

    @Test("is refused with the errno for a socket outside of a reuseport group")
    func refused() throws {
        let socket = try Socket(family: AF_INET, type: Int32(SOCK_DGRAM.rawValue))
        try socket.bind(to: Endpoint(IPAddress(v4: 0x7f00_0001), port: 0))
        let listener = Listener(
            name: "in", bind: Endpoint(IPAddress(v4: 0x7f00_0001), port: 1), downstreams: [])
        let error = #expect(throws: SystemError.self) {
            _ = try ClassicSteering().steer([socket.descriptor, 0], of: listener)
        }
        #expect(error?.description.hasPrefix("setsockopt SO_ATTACH_REUSEPORT_CBPF: EINVAL") == true)
    }
}
