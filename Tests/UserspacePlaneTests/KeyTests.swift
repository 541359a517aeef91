// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension UserspacePlaneTests {
    @Suite("on a wildcard address")
    struct KeyTests {
        @Test("hashes the address that the client sent to", arguments: [IPAddress.any, .any6])
        func destination(bind: IPAddress) async throws {
            let sinks = try Stage.userspace.sinks(5)
            var listener = try Stage.userspace.listener(
                "in", .fourTuple, to: sinks.downstreams())
            listener.bind = try .free(on: bind)
            let rig = try await Stage.userspace.rig([listener])
            let table = listener.slotTable
            for number in 0..<40 as Range<UInt32> {
                let destination = Endpoint(.loopback(2 + number % 3), port: listener.bind.port)
                let traffic = try Traffic(to: destination, from: .loopback(0x0b00 + number))
                let payload = Array("\(number)".utf8)
                #expect(traffic.send(payload))
                let key = FlowKey.fourTuple(source: traffic.source, destination: destination)
                let owner = try #require(table.owner(of: key))
                try await eventually("client \(number) reaches receiver \(owner)") {
                    sinks[owner].datagrams.contains { $0.payload == payload }
                }
            }
            #expect(sinks.total == 40)
            #expect(sinks.allSatisfy { $0.count > 0 })
            try await rig.settled(at: 40)
        }

        @Test("sends each datagram of a super-packet by its own payload")
        func superPacket() async throws {
            let stage = Stage.userspace
            let sinks = try stage.sinks(5)
            var listener = try stage.listener("in", .payload, to: sinks.downstreams())
            let key = PayloadKey(offset: 1, length: 1)
            listener.payloadKey = key
            let rig = try await stage.rig([listener])
            let traffic = try stage.traffic(to: listener)
            let datagrams = (0..<40).map { [0, UInt8($0), 7] }
            #expect(traffic.sendSuperPacket(datagrams.flatMap(\.self), segment: 3) == 40)
            for datagram in datagrams {
                let hash = FlowKey.payload(
                    datagram, key, source: traffic.source, destination: listener.bind)
                let owner = try #require(listener.slotTable.owner(of: hash))
                try await eventually("\(datagram) reaches receiver \(owner)") {
                    sinks[owner].datagrams.contains { $0.payload == datagram }
                }
            }
            #expect(sinks.total == 40)
            try await rig.settled(at: 40)
        }

        @Test("gives an IPv4 client of a dual-stack listener the same receiver as an IPv4 listener")
        func dualStack() async throws {
            let sinks = try Stage.userspace.sinks(5)
            let plain = try Stage.userspace.listener("plain", .sourceIP, to: sinks.downstreams())
            var dual = try Stage.userspace.listener("dual", .sourceIP, to: sinks.downstreams())
            dual.bind = try .free(on: .any6)
            let rig = try await Stage.userspace.rig([plain, dual])
            for number in 0..<40 as Range<UInt32> {
                let source = IPAddress.loopback(0x0c00 + number)
                let payload = Array("\(number)".utf8)
                for port in [plain.bind.port, dual.bind.port] {
                    try Traffic(to: Endpoint(.loopback, port: port), from: source).send(payload)
                }
                let key = FlowKey.sourceIP(source)
                let owner = try #require(plain.slotTable.owner(of: key))
                try await eventually("both of client \(number) reach receiver \(owner)") {
                    sinks[owner].datagrams.count { $0.payload == payload } == 2
                }
            }
            // An IPv6 client of the same socket.
            let client = try Traffic(to: Endpoint(.loopback6, port: dual.bind.port))
            client.send([6])
            let owner = try #require(plain.slotTable.owner(of: FlowKey.sourceIP(.loopback6)))
            try await eventually("the IPv6 client reaches receiver \(owner)") {
                sinks[owner].datagrams.contains { $0.payload == [6] }
            }
            try await rig.settled("dual", at: 41)
        }
    }
}
