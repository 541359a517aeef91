// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension UserspacePlaneTests {
    @Suite("when the kernel does not send", .enabled(if: Privilege.isRoot, "needs root"))
    struct SendErrorTests {
        @Test(
            "counts datagrams that a route refuses by reason, and forwards once there is another",
            arguments: [
                ("prohibit", DropReason.notPermitted), ("blackhole", .sendError),
                ("unreachable", .unreachable),
            ])
        func refusingRoute(kind: String, reason: DropReason) async throws {
            let local = "local 198.51.100.0/24 dev lo"
            try await Namespace.run(["link set lo up", "route add \(local)"]) {
                let stage = Stage.userspace
                let sink = try Sink(on: .any)
                let away = try #require(IPAddress("198.51.100.7"))
                let receiver = Endpoint(away, port: sink.endpoint.port)
                let listener = try stage.listener(
                    to: [Downstream(name: "far", endpoint: receiver)])
                let rig = try await stage.rig([listener])
                let traffic = try stage.traffic(to: listener)
                for _ in 0..<10 { traffic.send([1]) }
                #expect(try await rig.settled(at: 10).packetsForwarded == 10)

                try Namespace.ip("route del \(local)")
                try Namespace.ip("route add \(kind) 198.51.100.0/24")
                for _ in 0..<10 { traffic.send([2]) }
                var counters = try await rig.settled(at: 20)
                #expect(counters.drops[reason] == 10)
                #expect(counters.downstreams[0].drops[reason] == 10)

                try Namespace.ip("route del \(kind) 198.51.100.0/24")
                try Namespace.ip("route add \(local)")
                for _ in 0..<10 { traffic.send([3]) }
                counters = try await rig.settled(at: 30)
                #expect(counters.packetsForwarded == 20)
                try await eventually("all arrive") { sink.count == 20 }
            }
        }

        @Test("drops datagrams for a receiver with a full buffer, and for no other")
        func wouldBlock() async throws {
            let commands = [
                "link set lo up", "link add left type veth peer name right", "link set left up",
                "link set right up", "address add 10.9.1.1/24 dev left",
            ]
            try await Namespace.run(commands) {
                // This neighbour does not resolve, so datagrams to it wait and fill the buffer of the sending socket.
                try Namespace.set("ipv4/neigh/left/unres_qlen_bytes", to: "16777216")
                let silent = Endpoint(try #require(IPAddress("10.9.1.9")), port: 9)
                let stage = Stage.userspace
                let sink = try Sink(on: .loopback, keepsPayloads: false)
                let listener = try stage.listener(
                    to: [
                        Downstream(name: "live", endpoint: sink.endpoint),
                        Downstream(name: "silent", endpoint: silent),
                    ], settings: .roomy())
                let rig = try await stage.rig([listener])
                let report = try await Load(
                    [stage.traffic(to: listener)], rate: 10_000, total: 4000, sizes: [8000]
                ).finish()
                let counters = try await rig.settled(at: report.datagrams)
                let byName = Dictionary(
                    uniqueKeysWithValues: counters.downstreams.map { ($0.name, $0) })
                #expect(byName["silent"]?.drops[.wouldBlock] ?? 0 > 0)
                #expect(byName["silent"]?.drops[.wouldBlock] == counters.drops[.wouldBlock])
                #expect(byName["live"]?.drops.values.reduce(0, +) == 0)
                try await eventually("the live one gets all of its own") {
                    sink.arrivals == byName["live"]?.packetsForwarded
                }
            }
        }
    }
}
