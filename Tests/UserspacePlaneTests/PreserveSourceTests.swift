// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing
import Tiers

extension UserspacePlaneTests {
    @Suite("with preserve_source", .enabled(if: Privilege.isRoot, "needs root"))
    struct PreserveSourceTests {
        @Test("keeps what every plane promises", arguments: Promise.functional)
        func promises(promise: Promise) async throws {
            try await promise.check(.preserving)
        }

        @Test("keeps it under load", .tags(.load), arguments: Promise.underLoad)
        func promisesUnderLoad(promise: Promise) async throws {
            try await promise.check(.preserving)
        }

        @Test(
            "shows receivers the client's address and port, and the payload unchanged",
            arguments: [IPAddress.Family.v4, .v6])
        func sourceAndPayload(family: IPAddress.Family) async throws {
            let stage = Stage.preserving
            let sinks = try stage.sinks(2, family)
            let listener = try stage.listener(
                "in", .sourceIP, to: sinks.downstreams(), family: family,
                settings: .roomy(maxPacketSize: 65_535))
            let rig = try await stage.rig([listener])
            // The kernel verifies the plane's checksum, so a datagram with a wrong one does not arrive.
            let sizes = Array(0...65) + [1471, 1472, 1473, 8999, 65_506, 65_507]
            var wanted: [Received] = []
            for client in 0..<3 {
                let traffic = try stage.traffic(to: listener, client: client)
                for size in sizes {
                    let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ client) }
                    #expect(traffic.send(payload))
                    wanted.append(Received(payload: payload, source: traffic.source))
                }
            }
            try await eventually("all arrive") { sinks.total == UInt64(wanted.count) }
            let arrived = sinks.flatMap(\.datagrams)
            for source in Set(wanted.map(\.source)) {
                #expect(
                    arrived.filter { $0.source == source } == wanted.filter { $0.source == source })
            }
            let counters = try await rig.settled(at: UInt64(wanted.count))
            #expect(counters.packetsForwarded == UInt64(wanted.count))
        }

        @Test("sends a checksum of zero as all ones, since zero means none")
        func zeroChecksum() async throws {
            let stage = Stage.preserving
            let sinks = try stage.sinks(1, .v6)
            let listener = try stage.listener(
                to: sinks.downstreams(), family: .v6, settings: .roomy())
            let rig = try await stage.rig([listener])
            let traffic = try stage.traffic(to: listener)
            // Every value of a 16-bit word gives each checksum once. IPv6 refuses a zero one.
            var sent: UInt64 = 0
            for high in UInt8.min...UInt8.max {
                for low in UInt8.min...UInt8.max { traffic.send([high, low]) }
                sent += 256
                try await eventually("256 more arrive") { sinks[0].count == sent }
            }
            #expect(Set(sinks[0].datagrams.map(\.payload)).count == 65_536)
            try await rig.settled(at: 65_536)
        }

        @Test("counts clients of another family than the receivers' as family_mismatch")
        func familyMismatch() async throws {
            let stage = Stage.preserving
            let sinks = try stage.sinks(1, .v4) + stage.sinks(1, .v6)
            var listener = try stage.listener(to: sinks.downstreams())
            listener.bind = try .free(on: .any6)
            let rig = try await stage.rig([listener])
            let clients = try [IPAddress.loopback, .loopback6].map {
                try Traffic(to: Endpoint($0, port: listener.bind.port))
            }
            for client in clients { for _ in 0..<4 { client.send([1]) } }
            let counters = try await rig.settled(at: 8)
            #expect(counters.drops[.familyMismatch] == 4)
            #expect(counters.downstreams.map { $0.drops[.familyMismatch] } == [2, 2])
            try await eventually("the others arrive") { sinks.counts == [2, 2] }
            #expect(sinks[0].datagrams.allSatisfy { $0.source == clients[0].source })
            #expect(sinks[1].datagrams.allSatisfy { $0.source == clients[1].source })
        }

        @Test("lets the kernel fragment datagrams above the path's MTU")
        func fragments() async throws {
            try await Namespace.run(["link set lo mtu 1500 up"]) {
                for family in [IPAddress.Family.v4, .v6] {
                    let stage = Stage.preserving
                    let sinks = try stage.sinks(1, family)
                    let listener = try stage.listener(to: sinks.downstreams(), family: family)
                    let rig = try await stage.rig([listener])
                    let traffic = try stage.traffic(to: listener)
                    let payloads = [1452, 1453, 1472, 1473, 9000].map(SizeTests.bytes)
                    for payload in payloads { #expect(traffic.send(payload)) }
                    try await eventually("all arrive") { sinks[0].count == 5 }
                    #expect(sinks[0].datagrams.map(\.payload) == payloads)
                    #expect(sinks[0].datagrams.allSatisfy { $0.source == traffic.source })
                    try await rig.settled(at: 5)
                }
            }
        }

        @Test("the error names the missing capability")
        func withoutCapability() async throws {
            try await Privilege.without {
                let stage = Stage.preserving
                let sinks = try stage.sinks(1)
                let listener = try stage.listener(to: sinks.downstreams())
                let error = await #expect(throws: PlaneError.self) {
                    try await stage.rig([listener])
                }
                #expect(
                    error?.description
                        == "socket downstream a at \(sinks[0].endpoint) of listener in: EPERM "
                        + "(Operation not permitted): preserve_source sends through a raw socket, "
                        + "which needs CAP_NET_RAW; run as root, grant it with setcap "
                        + "cap_net_raw+ep, or set preserve_source: false")
                // Without preserve_source all else works.
                var plain = listener
                plain.preserveSource = false
                let rig = try await stage.rig([plain])
                try stage.traffic(to: plain).send([1])
                try await eventually("the datagram arrives") { sinks[0].count == 1 }
                await rig.stop()
            }
        }
    }
}
