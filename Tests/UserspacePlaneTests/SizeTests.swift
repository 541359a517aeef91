// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension UserspacePlaneTests {
    @Suite("with datagrams of every size")
    struct SizeTests {
        static func bytes(_ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ count) }
        }

        /// A listener with one receiver, and a client.
        private func path(
            maximum: Int, receivers: Int = 1
        ) async throws -> (rig: Rig, traffic: Traffic, sinks: [Sink]) {
            let sinks = try Stage.userspace.sinks(receivers)
            let listener = try Stage.userspace.listener(
                to: sinks.downstreams(), settings: .roomy(maxPacketSize: maximum))
            let rig = try await Stage.userspace.rig([listener])
            return (rig, try Stage.userspace.traffic(to: listener), sinks)
        }

        @Test("forwards the longest IPv4 datagram: 65 507 bytes")
        func longest() async throws {
            let (rig, traffic, sinks) = try await path(maximum: 65_535)
            for size in [65_507, 1, 65_507, 0, 65_506] {
                #expect(traffic.send(Self.bytes(size)))
            }
            try await eventually("all five arrive") { sinks[0].count == 5 }
            #expect(
                sinks[0].datagrams.map(\.payload)
                    == [65_507, 1, 65_507, 0, 65_506].map(Self.bytes))
            try await rig.settled(at: 5)
        }

        @Test("counts datagrams above the limit and never truncates them")
        func neverCut() async throws {
            let (rig, traffic, sinks) = try await path(maximum: 9000)
            for size in [9001, 65_507, 9000] { #expect(traffic.send(Self.bytes(size))) }
            let counters = try await rig.settled(at: 3)
            #expect(counters.drops[.oversize] == 2)
            try await eventually("the longest that may arrives") { sinks[0].count == 1 }
            #expect(sinks[0].datagrams.map(\.payload) == [Self.bytes(9000)])
        }

        @Test(
            "splits super-packets where the sender joined them",
            arguments: [(1000, 100), (1001, 100), (999, 100), (128, 1), (65_000, 1000), (101, 100)])
        func superPackets(size: Int, segment: Int) async throws {
            let (rig, traffic, sinks) = try await path(maximum: 9000, receivers: 3)
            let bytes = Self.bytes(size)
            let count = traffic.sendSuperPacket(bytes, segment: segment)
            #expect(count == (size + segment - 1) / segment)
            let counters = try await rig.settled(at: UInt64(count))
            #expect(counters.bytesForwarded == UInt64(size))
            try await eventually("all arrive") { sinks.total == UInt64(count) }
            // Round robin started with the first receiver in the order of the endpoints.
            let pieces = stride(from: 0, to: size, by: segment).map {
                Array(bytes[$0..<min(size, $0 + segment)])
            }
            for (index, sink) in sinks.sorted(by: { $0.endpoint < $1.endpoint }).enumerated() {
                let share = pieces.enumerated().filter { $0.offset % 3 == index }.map(\.element)
                let isShare = sink.datagrams.map(\.payload) == share
                #expect(isShare, "receiver \(index)")
            }
        }

        @Test("forwards only the short end of a super-packet above the limit")
        func superPacketAboveLimit() async throws {
            let (rig, traffic, sinks) = try await path(maximum: 500)
            let bytes = Self.bytes(2300)
            #expect(traffic.sendSuperPacket(bytes, segment: 1000) == 3)
            #expect(traffic.sendSuperPacket(bytes, segment: 501) == 5)
            #expect(traffic.sendSuperPacket(Self.bytes(1500), segment: 750) == 2)
            #expect(traffic.sendSuperPacket(bytes, segment: 500) == 5)
            let counters = try await rig.settled(at: 15)
            #expect(counters.drops[.oversize] == 2 + 4 + 2)
            try await eventually("the rest arrives") { sinks[0].count == 7 }
            #expect(
                sinks[0].datagrams.map(\.payload.count) == [300, 296] + [500, 500, 500, 500, 300])
            #expect(sinks[0].datagrams[0].payload == Array(bytes[2000...]))
        }

        @Test("forwards IPv4 to IPv6 receivers and back, up to what each family carries")
        func families() async throws {
            for (from, to) in [(IPAddress.Family.v4, IPAddress.Family.v6), (.v6, .v4)] {
                let sinks = try Stage.userspace.sinks(2, to)
                let listener = try Stage.userspace.listener(
                    to: sinks.downstreams(), family: from, settings: .roomy(maxPacketSize: 65_535))
                let rig = try await Stage.userspace.rig([listener])
                let traffic = try Stage.userspace.traffic(to: listener)
                let sizes = [0, 1, 1400, 1400, 1400, 1400, 65_507, 64]
                for size in sizes { #expect(traffic.send(Self.bytes(size))) }
                try await eventually("all arrive") { sinks.total == UInt64(sizes.count) }
                let arrived = sinks.flatMap(\.datagrams).map(\.payload.count).sorted()
                #expect(arrived == sizes.sorted())
                if from == .v6 {
                    // IPv6 carries 20 bytes more than IPv4.
                    #expect(traffic.send(Self.bytes(65_527)))
                    let counters = try await rig.settled(at: UInt64(sizes.count + 1))
                    #expect(counters.drops[.messageTooLong] == 1)
                    #expect(counters.packetsForwarded == UInt64(sizes.count))
                }
            }
        }
    }
}
