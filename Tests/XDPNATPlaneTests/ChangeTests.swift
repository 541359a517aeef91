// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import FanoutCore
import LabNet
import PlaneContract
import Testing

extension XDPNATPlaneTests {
    @Suite("When servers are added and removed")
    struct ChangeTests {
        @Test(
            "the clients of a removed server get another one with their next packet",
            arguments: NATNet.Way.allCases)
        func removed(way: NATNet.Way) async throws {
            try await inLab(way) { net, servers, rig in
                let clients = try net.manyClients(90)
                let before = try await ask(clients, net.service())
                try await rig.apply([net.listener([servers[0], servers[2]])])
                let after = try await ask(clients, net.service())
                for (was, became) in zip(before, after) {
                    if was == "b x" {
                        #expect(became != "b x")
                    } else {
                        #expect(became == was)
                    }
                }
                let counters = try await rig.counters()
                #expect(counters.packetsForwarded == 180 && counters.drops == [:])
                #expect(counters.downstreams.map(\.name) == ["a", "c"])
            }
        }

        @Test(
            "a removed server keeps its address in the kernel for packets on their way to it"
        )
        func addressStays() async throws {
            try await inLab(.routed) { net, servers, rig in
                try await rig.apply([net.listener([servers[0]])])
                let folder = try #require(net.pins.pins("udp-fanout").first)
                let path = "\(net.pins.path)/udp-fanout/\(folder)/servers"
                guard let map = try BPFMap.pinned(at: path, named: "servers") else {
                    Issue.record("no map at \(path)")
                    return
                }
                var left: Set<Endpoint> = []
                try map.walk {
                    let entry = $1.read(lb_nat_server.self)
                    guard entry.generation == 0, entry.reserved != 0 else { return }
                    let address = IPAddress(high: entry.address.high, low: entry.address.low)
                    left.insert(Endpoint(address, port: entry.port))
                }
                #expect(left == Set(servers[1...].map(\.endpoint)))
            }
        }

        @Test(
            "the plane reports the server of a client, per port, until the server is removed",
            arguments: [IPAddress.Family.v4, .v6])
        func associated(family: IPAddress.Family) async throws {
            let net = try NATNet(.routed)
            let ports: [UInt16] = [5683, 5684]
            let servers = try (0..<2).map { try net.server($0, family, port: ports[0]) }
            let others = try (0..<2).map { try net.server($0, family, port: ports[1]) }
            let nat = NATSettings(furtherPorts: [ports[1]], transport: .both)
            try await net.balancer.run {
                let rig = try await net.rig([net.listener(servers, family, nat: nat)])
                let client = try net.talker(family)
                for (port, servers) in zip(ports, [servers, others]) {
                    func known() async -> Endpoint? {
                        await rig.plane.receiver(
                            associatedWith: client.endpoint, to: net.service(family, port: port),
                            of: "in")
                    }
                    #expect(await known() == nil)
                    let answer = try await client.ask("x", net.service(family, port: port)).text
                    let met = servers.first { answer.hasPrefix($0.name) }
                    let found = await known()
                    #expect(found != nil && found == met?.endpoint)
                    // Also for a client without a reply.
                    let lone = try net.talker(family)
                    try lone.send("x", to: net.service(family, port: port))
                    try await eventually("it is associated") {
                        await rig.plane.receiver(
                            associatedWith: lone.endpoint, to: net.service(family, port: port),
                            of: "in") != nil
                    }
                }
                try await rig.apply([net.listener([], family, nat: nat)])
                #expect(
                    await rig.plane.receiver(
                        associatedWith: client.endpoint, to: net.service(family), of: "in") == nil)
                await rig.stop()
            }
        }

        @Test("an added server gets its share of new clients, and none of the others'")
        func added() async throws {
            try await inLab(.routed) { net, servers, rig in
                try await rig.apply([net.listener([servers[0], servers[1]])])
                let old = try net.manyClients(20)
                let before = try await ask(old, net.service())
                try await rig.apply([net.listener(servers)])
                #expect(try await ask(old, net.service()) == before)
                let new = try await ask(net.manyClients(30, from: 20), net.service())
                #expect((8...12).contains(new.count { $0 == "c x" }))
            }
        }

        @Test("a server of weight 0 keeps its clients and gets no new ones")
        func draining() async throws {
            try await inLab(.routed) { net, servers, rig in
                let clients = try net.manyClients(6)
                let before = try await ask(clients, net.service())
                var listener = net.listener(servers)
                listener.downstreams[0] = Downstream(
                    name: "a", endpoint: servers[0].endpoint, weight: 0)
                try await rig.apply([listener])
                #expect(try await ask(clients, net.service()) == before)
                let new = try await ask(net.manyClients(10, from: 6), net.service())
                #expect(!new.contains("a x"))
            }
        }

        @Test("an unhealthy server has no clients, and none of the old ones afterwards")
        func disabled() async throws {
            try await inLab(.routed) { net, servers, rig in
                let client = try net.talker()
                #expect(try await client.ask("1", net.service()).text == "a 1")
                var listener = net.listener(servers)
                listener.downstreams[0].isEnabled = false
                try await rig.apply([listener])
                let other = try await client.ask("2", net.service()).text.prefix(1)
                #expect(other != "a")
                listener.downstreams[0].isEnabled = true
                try await rig.apply([listener])
                #expect(try await client.ask("3", net.service()).text == "\(other) 3")
                let counters = try await rig.counters()
                #expect(counters.downstreams.map(\.packetsForwarded).sorted() == [0, 1, 2])
                #expect(counters.downstreams[0].packetsForwarded == 1)
            }
        }

        @Test("a server that is removed and added again has none of its old clients")
        func comesBack() async throws {
            try await inLab(.routed) { net, servers, rig in
                let client = try net.talker()
                #expect(try await client.ask("1", net.service()).text == "a 1")
                try await rig.apply([net.listener([servers[1], servers[2]])])
                try await rig.apply([net.listener(servers)])
                // A server's packet to such a client makes an association, as to any other.
                try servers[1].talker.send("mine now", to: client.endpoint)
                #expect(try await client.hear().text == "mine now")
                #expect(try await client.ask("2", net.service()).text == "b 2")
            }
        }

        @Test("servers are removed and added ten times under load: only packets in flight are lost")
        func underLoad() async throws {
            let net = try NATNet(.routed)
            let sinks = try (0..<3).map { index in
                try net.servers[index].enter {
                    try Sink(on: VethLab.v4(index + 1, 2), port: 5683, keepsPayloads: false)
                }
            }
            @Sendable func listener(_ some: [Int]) -> Listener {
                var listener = net.listener([])
                listener.downstreams = some.map {
                    Downstream(name: "s\($0)", endpoint: sinks[$0].endpoint)
                }
                return listener
            }
            try await net.balancer.run {
                let rig = try await net.rig([listener([0, 1, 2])])
                let sources = try (0..<20).map { number in
                    try net.client.enter {
                        try Traffic(to: net.service(), from: VethLab.v4(9, number + 1))
                    }
                }
                let load = try Load(sources, rate: 5000)
                for turn in 0..<10 {
                    try await rig.apply([listener(turn % 2 == 0 ? [0, 2] : [0, 1, 2])])
                    let seen = sinks[0].count
                    try await eventually("load goes on") { sinks[0].count > seen + 200 }
                }
                let report = await load.stop()
                let counters = try await rig.settled(at: report.datagrams)
                #expect(counters.drops == [:])
                try await eventually("all arrive") {
                    sinks.map(\.arrivals).reduce(0, +) == report.datagrams
                }
                await rig.stop()
            }
        }
    }
}
