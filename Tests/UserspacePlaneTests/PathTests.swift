// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension UserspacePlaneTests {
    @Suite("when the network has problems", .enabled(if: Privilege.isRoot, "needs root"))
    struct PathTests {
        @Test(
            "loses nothing when the path refuses super-packets",
            arguments: [IPAddress.Family.v4, .v6])
        func smallMTU(family: IPAddress.Family) async throws {
            try await Namespace.run(["link set lo mtu 1500 up"]) {
                let stage = Stage.userspace
                let sinks = try stage.sinks(2, family, keepsPayloads: false)
                let listener = try stage.listener(
                    to: sinks.downstreams(), family: family, settings: .roomy())
                let rig = try await stage.rig([listener])
                let report = try await Load(
                    [stage.traffic(to: listener)], rate: 10_000, total: 10_000,
                    sizes: [9000, 9000, 9000, 9000, 4000, 4000, 100, 100]
                ).finish()
                try await expectExact(report, through: rig, at: sinks)
            }
        }

        @Test("starts without a route, counts unreachable, and forwards once there is one")
        func routeComesLater() async throws {
            try await Namespace.run(["link set lo up"]) {
                let stage = Stage.userspace
                let sink = try Sink(on: .any)
                let away = try #require(IPAddress("198.51.100.7"))
                let listener = try stage.listener(
                    to: [
                        Downstream(
                            name: "far", endpoint: Endpoint(away, port: sink.endpoint.port))
                    ])
                let rig = try await stage.rig([listener])
                let traffic = try stage.traffic(to: listener)
                for _ in 0..<10 { traffic.send([1]) }
                var counters = try await rig.settled(at: 10)
                #expect(counters.drops[.unreachable] == 10)
                #expect(counters.downstreams[0].drops[.unreachable] == 10)

                try Namespace.ip("route add local 198.51.100.0/24 dev lo")
                for _ in 0..<10 { traffic.send([2]) }
                counters = try await rig.settled(at: 20)
                #expect(counters.packetsForwarded == 10)
                try await eventually("all arrive") { sink.count == 10 }

                try Namespace.ip("route del local 198.51.100.0/24 dev lo")
                for _ in 0..<10 { traffic.send([3]) }
                counters = try await rig.settled(at: 30)
                #expect(counters.drops[.unreachable] == 20)

                try Namespace.ip("route add local 198.51.100.0/24 dev lo")
                for _ in 0..<10 { traffic.send([4]) }
                try await eventually("all arrive again") { sink.count == 20 }
                try await rig.settled(at: 40)
            }
        }

        @Test("continues when its own address is replaced")
        func sourceReplaced() async throws {
            let commands = [
                "link set lo up", "address add 10.9.1.1/32 dev lo",
                "address add 10.9.1.2/32 dev lo",
                "route add local 10.9.9.0/24 dev lo src 10.9.1.1",
            ]
            try await Namespace.run(commands) {
                let stage = Stage.userspace
                let sink = try Sink(on: .any)
                let receiver = Endpoint(
                    try #require(IPAddress("10.9.9.9")), port: sink.endpoint.port)
                let listener = try stage.listener(
                    to: [Downstream(name: "a", endpoint: receiver)])
                let rig = try await stage.rig([listener])
                let traffic = try stage.traffic(to: listener)
                traffic.send([1])
                try await eventually("the first arrives") { sink.count == 1 }
                try Namespace.ip("route add local 10.9.9.9 dev lo src 10.9.1.2")
                try Namespace.ip("address del 10.9.1.1/32 dev lo")
                for _ in 0..<5 { traffic.send([2]) }
                try await eventually("the others arrive") { sink.count == 6 }
                let sources = sink.datagrams.map(\.source.address.description)
                #expect(sources == ["10.9.1.1"] + Array(repeating: "10.9.1.2", count: 5))
                try await rig.settled(at: 6)
            }
        }

        @Test("reaches a link-local receiver through the zone of its address")
        func linkLocal() async throws {
            let commands = [
                "link set lo up", "link add left type veth peer name right",
                "link set left addrgenmode none", "link set right addrgenmode none",
                "link set left up", "link set right up",
                "address add fe80::1/64 dev left nodad", "address add fe80::2/64 dev right nodad",
            ]
            try await Namespace.run(commands) {
                let stage = Stage.userspace
                let sink = try Sink(on: try #require(IPAddress("fe80::2%right")))
                let receiver = Endpoint(
                    try #require(IPAddress("fe80::2%left")), port: sink.endpoint.port)
                let listener = try stage.listener(
                    to: [Downstream(name: "near", endpoint: receiver)])
                let rig = try await stage.rig([listener])
                let traffic = try stage.traffic(to: listener)
                for number in 0..<10 as Range<UInt8> { traffic.send([number]) }
                try await eventually("all arrive") { sink.count == 10 }
                #expect(sink.datagrams.allSatisfy { $0.source.address == IPAddress("fe80::1") })
                try await rig.settled(at: 10)

                var lost = listener
                lost.downstreams = [
                    Downstream(
                        name: "lost",
                        endpoint: Endpoint(try #require(IPAddress("fe80::2%none")), port: 9))
                ]
                let change = lost
                let error = await #expect(throws: PlaneError.self) { try await rig.apply([change]) }
                #expect(error?.reason == "ENODEV (No such device)")
            }
        }

        @Test(
            "replaces a dual-stack listener under load without IPv6",
            .timeLimit(.minutes(1)))
        func dualStackWithoutIPv6() async throws {
            try await Namespace.run(["link set lo up"]) {
                try Namespace.set("ipv6/conf/all/disable_ipv6", to: "1")
                try await replaceUnderLoad(bind: .any6, client: .loopback(9))
            }
        }

        @Test(
            "stops under load although its socket cannot be connected to another peer",
            .timeLimit(.minutes(1)))
        func loopbackDown() async throws {
            // connect needs a route to the peer, and a loopback that is down has none.
            let clients = try await Namespace.thread([])
            defer { clients.end() }
            let number = try await clients.run { Namespace.threadNumber }
            let commands = [
                "link add left type veth peer name right netns \(number)", "link set left up",
                "address add 10.9.1.1/24 dev left",
            ]
            try await Namespace.run(commands) {
                // Sending single datagrams is slower than receiving super-packets, so the socket is never empty.
                let away = Endpoint(try #require(IPAddress("10.9.1.2")), port: 9)
                let listener = Listener(
                    name: "endless", bind: try .free(on: .any), preserveSource: true,
                    downstreams: [Downstream(name: "a", endpoint: away)], settings: .roomy())
                let rig = try await Stage.userspace.rig([listener])
                let server = Endpoint(
                    try #require(IPAddress("10.9.1.1")), port: listener.bind.port)
                let load = try await clients.run {
                    try Namespace.ip("address add 10.9.1.2/24 dev right")
                    try Namespace.ip("link set right up")
                    let client = try #require(IPAddress("10.9.1.2"))
                    let source = try Traffic(to: server, from: client)
                    return try Load([source], rate: 10_000_000, segments: 100)
                }
                try await eventually("the load arrives") {
                    try await rig.counters("endless").packetsReceived > 1000
                }
                let counters = await rig.stop()
                #expect(counters.first?.isBalanced == true)
                #expect(Probe.threads(named: "fanout-endless") == 0)
                _ = await load.stop()
            }
        }

        private func replaceUnderLoad(bind: IPAddress, client: IPAddress) async throws {
            let stage = Stage.userspace
            let sinks = try stage.sinks(2, keepsPayloads: false)
            var listener = try stage.listener(to: sinks.downstreams(), settings: .roomy(workers: 2))
            listener.bind = try .free(on: bind)
            let rig = try await stage.rig([listener])
            let destination = Endpoint(.loopback, port: listener.bind.port)
            let sources = try (0..<8).map { _ in try Traffic(to: destination, from: client) }
            let load = try Load(sources, rate: 20_000)
            for batch in [8, 16, 32, 8, 16, 32] {
                let enough = load.sent + 1000
                try await eventually("the load goes on") { load.sent >= enough }
                listener.settings.batchSize = batch
                try await rig.apply([listener])
            }
            let report = await load.stop()
            #expect(report.refusals == 0)
            // A flow that changes its worker may be reordered, but nothing else.
            let counters = try await rig.settled(at: report.datagrams)
            try await eventually("all arrive") {
                sinks.map(\.arrivals).reduce(0, +) == counters.packetsForwarded
            }
            let delivery = Delivery(of: report, at: sinks)
            #expect(delivery.lost == delivery.droppedAtSinks + counters.kernelDrops, "\(delivery)")
        }
    }
}
