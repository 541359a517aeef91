// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet
import PlaneContract
import Testing

extension UserspacePlaneTests {
    @Suite("when a change fails")
    struct BindTests {
        /// A socket outside of the plane, on its own address.
        private final class Foreign: Sendable {
            let endpoint: Endpoint
            private let socket: Socket

            init(sharing: Bool, at address: Endpoint? = nil) throws {
                endpoint = try address ?? .free()
                socket = try Socket(family: AF_INET, type: Int32(SOCK_DGRAM.rawValue))
                if sharing {
                    try socket.setOption("SO_REUSEPORT", level: SOL_SOCKET, SO_REUSEPORT, to: 1)
                }
                try socket.bind(to: endpoint)
            }
        }

        @Test("refuses an address in use, with SO_REUSEPORT or without, and names the cause")
        func addressInUse() async throws {
            for sharing in [false, true] {
                let foreign = try Foreign(sharing: sharing)
                var listener = try Stage.userspace.listener(to: [])
                listener.bind = foreign.endpoint
                let bad = listener
                let error = await #expect(throws: PlaneError.self) {
                    try await Stage.userspace.rig([bad])
                }
                #expect(
                    error?.description
                        == "bind listener in on \(foreign.endpoint): EADDRINUSE (Address already in "
                        + "use): another process serves this address; stop it, choose another bind, "
                        + "or set settings.share_port: true to share the port with it")
                #expect(error?.code == EADDRINUSE)
            }
        }

        @Test("joins another socket's address with share_port")
        func sharedPort() async throws {
            let foreign = try Foreign(sharing: true)
            var listener = try Stage.userspace.listener(to: [])
            listener.bind = foreign.endpoint
            listener.settings.sharePort = true
            listener.settings.workers = 2
            let rig = try await Stage.userspace.rig([listener])
            #expect(Probe.udpSockets(at: foreign.endpoint.port) == 3)
            await rig.stop()
        }

        @Test("the error names an address that this host does not have")
        func foreignAddress() async throws {
            var listener = try Stage.userspace.listener(to: [])
            listener.bind = Endpoint(try #require(IPAddress("192.0.2.1")), port: 5140)
            let bad = listener
            let error = await #expect(throws: PlaneError.self) {
                try await Stage.userspace.rig([bad])
            }
            #expect(error?.operation == "bind")
            #expect(error?.subject == "listener in on 192.0.2.1:5140")
            #expect(error?.reason == "EADDRNOTAVAIL (Cannot assign requested address)")
            #expect(error?.remedy.contains("`ip address`") == true)
        }

        @Test("lets exactly one of two planes bind an address at the same time")
        func doubleStart() async throws {
            for _ in 0..<20 {
                let listener = try Stage.userspace.listener(
                    to: [], settings: ListenerSettings(workers: 2))
                let planes = (0..<2).map { _ in Rig(Stage.userspace.makePlane()) }
                let wins = await withTaskGroup { group in
                    for rig in planes {
                        group.addTask { (try? await rig.apply([listener])) != nil }
                    }
                    return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(wins == 1)
                #expect(Probe.udpSockets(at: listener.bind.port) == 2)
                for rig in planes { await rig.stop() }
            }
        }

        @Test("changes nothing, leaks nothing, and loses nothing under load")
        func allOrNothing() async throws {
            let stage = Stage.userspace
            let sinks = try stage.sinks(3, keepsPayloads: false)
            let foreign = try Foreign(sharing: false)
            let first = try stage.listener(
                "a", to: sinks.downstreams(), settings: .roomy(workers: 2))
            let second = try stage.listener("b", to: sinks.downstreams(), settings: .roomy())
            let rig = try await stage.rig([first, second])
            let sources = try (0..<8).map { try stage.traffic(to: first, client: $0) }
            let load = try Load(sources, rate: 20_000)

            // The first could be replaced, retargeted to the second's receivers, or moved; the second asks for
            // an address in use.
            var replaced = first
            replaced.settings.batchSize = 7
            replaced.settings.workers = 3
            replaced.downstreams.removeLast()
            var retargeted = first
            retargeted.downstreams.removeFirst()
            var moved = second
            moved.bind = foreign.endpoint
            var handed = try stage.listener("c", to: sinks.downstreams(weights: [0, 0, 1]))
            handed.bind = first.bind
            let sockets = Probe.udpSockets(at: sinks[0].endpoint.port)
            let changes = [
                [replaced, moved], [retargeted, moved], [handed, moved], [moved, replaced],
            ]
            for round in 0..<40 {
                let enough = load.sent + 200
                try await eventually("the load goes on") { load.sent >= enough }
                let error = await #expect(throws: PlaneError.self) {
                    try await rig.apply(changes[round % changes.count])
                }
                #expect(error?.code == EADDRINUSE)
            }
            #expect(Probe.udpSockets(at: sinks[0].endpoint.port) == sockets)
            #expect(Probe.udpSockets(at: first.bind.port) == 2 + sources.count)
            #expect(Probe.threads(named: "fanout-a") == 2)
            #expect(Probe.threads(named: "fanout-c") == 0)
            let report = await load.stop()
            #expect(report.refusals == 0)
            try await expectExact(report, through: rig, "a", at: sinks)
            await rig.stop()
        }

        @Test("forwards and counts the datagrams of new sockets that are rolled back")
        func failsAtTheLastStep() async throws {
            let stage = Stage.userspace
            let sinks = try stage.sinks(2, keepsPayloads: false)
            let first = try stage.listener(
                "a", to: sinks.downstreams(), settings: .roomy(workers: 2))
            let second = try stage.listener("b", to: [])
            let rig = try await stage.rig([first, second])
            let sources = try (0..<8).map { try stage.traffic(to: first, client: $0) }
            let load = try Load(sources, rate: 20_000)
            // Another socket on the port prevents the wildcard bind, which fails at bind time.
            let neighbour = try Foreign(
                sharing: false, at: Endpoint(.loopback(2), port: second.bind.port))
            var widened = second
            widened.bind = Endpoint(.any, port: neighbour.endpoint.port)
            var replaced = first
            replaced.settings.workers = 3
            for _ in 0..<10 {
                let enough = load.sent + 200
                try await eventually("the load goes on") { load.sent >= enough }
                let wish = [replaced, widened]
                let error = await #expect(throws: PlaneError.self) { try await rig.apply(wish) }
                #expect(error?.code == EADDRINUSE)
            }
            let report = await load.stop()
            let counters = try await rig.settled("a", at: report.datagrams)
            try await eventually("all arrive") {
                sinks.map(\.arrivals).reduce(0, +) == counters.packetsForwarded
            }
            // A flow that was steered to another socket and back may be reordered.
            let delivery = Delivery(of: report, at: sinks)
            #expect(delivery.lost == delivery.droppedAtSinks + counters.kernelDrops, "\(delivery)")
            #expect(delivery.duplicates == 0 && delivery.damaged == 0, "\(delivery)")
            await rig.stop()
        }

        @Test("follows a listener from one address to the wildcard and back on the same port")
        func widerBind() async throws {
            let stage = Stage.userspace
            let sinks = try stage.sinks(1, keepsPayloads: false)
            var listener = try stage.listener(to: sinks.downstreams(), settings: .roomy(workers: 2))
            let rig = try await stage.rig([listener])
            let load = try Load([stage.traffic(to: listener)], rate: 20_000)
            for address in [IPAddress.any, .loopback, .any6, .loopback, .any, .any6, .loopback] {
                let enough = load.sent + 500
                try await eventually("the load goes on") { load.sent >= enough }
                listener.bind = Endpoint(address, port: listener.bind.port)
                try await rig.apply([listener])
            }
            let report = await load.stop()
            #expect(report.refusals == 0)
            let counters = try await rig.settled(at: report.datagrams)
            #expect(counters.packetsForwarded == report.datagrams - counters.kernelDrops)
            await rig.stop()
        }
    }
}
