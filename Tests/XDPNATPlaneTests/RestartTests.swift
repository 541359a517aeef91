// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing
import XDPNATPlane

extension XDPNATPlaneTests {
    /// A plane that is released without a stop leaves the same as a killed daemon: its links are pinned.
    @Suite("After a killed daemon")
    struct RestartTests {
        /// Serves, and is released before this returns.
        private func serveAndVanish(
            _ net: NATNet, _ listeners: [Listener], _ body: () async throws -> Void
        ) async throws {
            var rig: Rig? = try await net.rig(listeners)
            weak let plane = rig?.plane as? XDPNATPlane
            try await body()
            withExtendedLifetime(rig) {}
            rig = nil
            // It may be reading the network at this moment; a dead daemon's locks are gone.
            try await eventually("the plane is gone") { plane == nil }
        }

        @Test(
            "every client keeps its server, between the daemons and with the next one",
            arguments: NATNet.Way.allCases)
        func kept(way: NATNet.Way) async throws {
            let net = try NATNet(way)
            let servers = try (0..<3).map { try net.server($0) }
            try await net.balancer.run {
                let clients = try net.manyClients(100)
                var before: [String] = []
                try await serveAndVanish(net, [net.listener(servers)]) {
                    before = try await ask(clients, net.service())
                }
                #expect(try await ask(clients, net.service()) == before)
                let log = LogRecorder()
                var listener = net.listener(servers.reversed())
                listener.name = "renamed"
                let rig = try await net.rig([listener], logger: log.logger)
                #expect(
                    log.lines("attached XDP program").allSatisfy { $0.fields["replaced"] == "true" }
                )
                #expect(try await ask(clients, net.service()) == before)
                let counters = try await rig.counters("renamed")
                #expect(counters.packetsForwarded == 100 && counters.isBalanced)
                #expect(await rig.plane.events()["ingress_new_nat"] == 0)
                await rig.stop()
                #expect(net.pins.isEmpty)
            }
        }

        @Test("nothing is lost while one daemon takes over from another")
        func lossless() async throws {
            let net = try NATNet(.routed)
            let sink = try net.servers[0].enter {
                try Sink(on: VethLab.v4(1, 2), port: 5683, keepsPayloads: false)
            }
            var listener = net.listener([])
            listener.downstreams = [Downstream(name: "a", endpoint: sink.endpoint)]
            let listeners = [listener]
            try await net.balancer.run {
                var load: Load?
                try await serveAndVanish(net, listeners) {
                    let traffic = try net.client.enter {
                        try Traffic(to: net.service(), from: VethLab.v4(9, 1))
                    }
                    load = try Load([traffic], rate: 5000)
                    try await eventually("it flows") { sink.count > 500 }
                }
                for _ in 0..<5 {
                    try await serveAndVanish(net, listeners) {
                        let seen = sink.count
                        try await eventually("traffic continues") { sink.count > seen + 300 }
                    }
                }
                let rig = try await net.rig(listeners)
                let seen = sink.count
                try await eventually("traffic continues") { sink.count > seen + 300 }
                let report = await load!.stop()
                try await eventually("all arrive") { sink.arrivals == report.datagrams }
                await rig.stop()
            }
        }

        @Test("a server removed from the configuration has no clients after the restart")
        func goneMeanwhile() async throws {
            let net = try NATNet(.routed)
            let servers = try (0..<3).map { try net.server($0) }
            try await net.balancer.run {
                let client = try net.talker()
                try await serveAndVanish(net, [net.listener(servers)]) {
                    let answer = try await client.ask("1", net.service())
                    #expect(answer.text == "a 1")
                }
                let rig = try await net.rig([net.listener([servers[1], servers[2]])])
                #expect(try await client.ask("2", net.service()).text != "a 2")
                // A third daemon: the number of the removed server keeps its generations.
                await rig.stop()
            }
        }

        @Test("removed listeners, more than a program's capacity, do not prevent a start")
        func comeAndGone() async throws {
            let net = try NATNet(.routed)
            let server = try net.server(0)
            try await net.balancer.run {
                let client = try net.talker()
                var before = ""
                func guest(_ number: UInt16) -> Listener {
                    var listener = net.listener([])
                    listener.name = "guest \(number)"
                    listener.bind = Endpoint(listener.bind.address, port: 8000 + number)
                    return listener
                }
                let stays = net.listener([server])
                var rig: Rig? = try await net.rig([stays])
                weak let plane = rig?.plane as? XDPNATPlane
                before = try await client.ask("1", net.service()).text
                for number in 0..<70 as Range<UInt16> {
                    try await rig?.apply([stays, guest(number)])
                }
                rig = nil
                try await eventually("the plane is gone") { plane == nil }
                let next = try await net.rig([stays, guest(100)])
                #expect(try await client.ask("2", net.service()).text == "a 2")
                #expect(before == "a 1")
                #expect(await next.plane.events()["ingress_new_nat"] == 0)
                await next.stop()
            }
        }

        @Test("maps of another size cannot be taken over, and that is logged")
        func otherSize() async throws {
            let net = try NATNet(.routed)
            let servers = try (0..<2).map { try net.server($0) }
            try await net.balancer.run {
                let client = try net.talker()
                try await serveAndVanish(net, [net.listener(servers)]) {
                    _ = try await client.ask("1", net.service())
                }
                let log = LogRecorder()
                let small = net.listener(servers, nat: NATSettings(maxAssociations: 64))
                let rig = try await net.rig([small], logger: log.logger)
                #expect(
                    log.lines("associations are lost, clients get new servers").count
                        == 1)
                #expect(try await client.ask("2", net.service()).text == "a 2")
                await rig.stop()
                #expect(net.pins.isEmpty)
            }
        }

        @Test("leftovers on interfaces without a listener go, a running daemon's pins stay")
        func unnamed() async throws {
            let net = try NATNet(.routed)
            let servers = try (0..<3).map { try net.server($0) }
            try await net.balancer.run {
                let client = try net.talker()
                try await serveAndVanish(net, [net.listener(servers)]) {
                    _ = try await client.ask("1", net.service())
                }
                let left = net.pins.pins("udp-fanout")
                #expect(left.count == 4, "\(left)")
                // Only the first server is used here, so the other two interfaces have no daemon.
                var other = net.listener([servers[0]], port: 7000)
                other.bind = Endpoint(VethLab.v4(1, 1), port: 7000)
                other.interface = "out0"
                let log = LogRecorder()
                let rig = try await net.rig([other], logger: log.logger)
                await rig.plane.removeLeftovers()
                #expect(net.pins.pins("udp-fanout").count == 1)
                let said = log.lines(
                    "removed the program and the associations that an old daemon had left")
                #expect(
                    said.compactMap { $0.fields["interface"] }.sorted() == ["lb0", "out1", "out2"])

                let third = Rig(net.plane())
                try await third.apply([net.listener([servers[1]])])
                #expect(net.pins.pins("udp-fanout").count == 3)
                await third.stop()
                #expect(net.pins.pins("udp-fanout").count == 1)
                await rig.stop()
                #expect(net.pins.isEmpty)
            }
        }

        @Test("an incomplete set of pins is not taken over")
        func torn() async throws {
            let net = try NATNet(.oneArm)
            let servers = try (0..<2).map { try net.server($0) }
            try await net.balancer.run {
                let client = try net.talker()
                try await serveAndVanish(net, [net.listener(servers)]) {
                    _ = try await client.ask("1", net.service())
                }
                let folder = try #require(net.pins.pins("udp-fanout").first)
                try Namespace.command("rm \(net.pins.path)/udp-fanout/\(folder)/servers")
                let rig = try await net.rig([net.listener(servers)])
                #expect(try await client.ask("2", net.service()).text.hasSuffix(" 2"))
                #expect(await rig.plane.events()["ingress_new_nat"] == 1)
                #expect(net.pins.pins("udp-fanout/\(folder)").contains("servers"))
                await rig.stop()
                #expect(net.pins.isEmpty)
            }
        }

        @Test("a second daemon on the interface is refused, and nothing changes for the first")
        func second() async throws {
            try await inLab(.oneArm) { net, servers, rig in
                let client = try net.talker()
                #expect(try await client.ask("1", net.service()).text == "a 1")
                let other = Rig(net.plane())
                await #expect(throws: PlaneError.self) {
                    try await other.apply([net.listener([servers[1]])])
                }
                #expect(try await client.ask("2", net.service()).text == "a 2")
            }
        }
    }
}
