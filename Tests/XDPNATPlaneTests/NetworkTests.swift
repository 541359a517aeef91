// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Synchronization
import Testing

extension XDPNATPlaneTests {
    @Suite("When hosts change")
    struct NetworkTests {
        @Test("a server whose hardware address changes without an announcement is reached again")
        func hardwareAddress() async throws {
            let net = try NATNet(.routed)
            try net.balancer.set("ipv4/neigh/out0/delay_first_probe_time", to: "1")
            let server = try net.server(0)
            try await net.balancer.run {
                let rig = try await net.rig([net.listener([server])])
                let client = try net.talker()
                #expect(try await client.ask("1", net.service()).text == "a 1")
                try net.servers[0].set("ipv4/conf/in0/arp_notify", to: "0")
                try net.servers[0].ip("link set in0 address 02:00:00:00:00:77")
                // The kernel keeps the old entry until the neighbour is probed, and redirected packets cause no probe.
                try net.balancer.ip(
                    "neigh replace \(VethLab.v4(1, 2)) lladdr 02:00:00:00:00:76 nud stale dev out0")
                try await eventually(within: .seconds(30), "the server is reached again") {
                    try client.send("2", to: net.service())
                    return try client.heard() != nil
                }
                await rig.stop()
            }
        }

        @Test("all replies of a removed server come from the virtual address")
        func lastAnswers() async throws {
            let net = try NATNet(.routed)
            let servers = try (0..<2).map { try net.server($0) }
            try await net.balancer.run {
                let rig = try await net.rig([net.listener(servers)])
                let clients = try (0..<32).map { _ in try net.talker() }
                let heard = Atomic(0)
                let strange = Atomic(0)
                let isOver = Atomic(false)
                let asking = Task.detached {
                    while !isOver.load(ordering: .relaxed) {
                        for client in clients {
                            try client.send("x", to: net.service())
                            while let answer = try client.heard() {
                                heard.add(1, ordering: .relaxed)
                                if answer.from != net.service() {
                                    strange.add(1, ordering: .relaxed)
                                }
                            }
                        }
                        await Task.yield()
                    }
                }
                for turn in 0..<10 {
                    let before = heard.load(ordering: .relaxed)
                    try await rig.apply([net.listener(turn % 2 == 0 ? [servers[0]] : servers)])
                    try await eventually("replies continue") {
                        heard.load(ordering: .relaxed) > before + 200
                    }
                }
                isOver.store(true, ordering: .relaxed)
                try await asking.value
                #expect(strange.load(ordering: .relaxed) == 0)
                await rig.stop()
            }
        }

        @Test("packets without a route, or without IP forwarding, are dropped as unreachable")
        func unreachable() async throws {
            let net = try NATNet(.routed)
            let server = try net.server(0)
            try await net.balancer.run {
                var lost = net.listener([])
                let nowhere = Endpoint(IPAddress(v4: 0x0a4d_0101), port: 5683)
                lost.downstreams = [Downstream(name: "nowhere", endpoint: nowhere)]
                let rig = try await net.rig([lost])
                let client = try net.talker()
                for _ in 0..<5 { try client.send("x", to: net.service()) }
                try await eventually("they are dropped") {
                    try await rig.counters().drops == [.unreachable: 5]
                }
                try await rig.apply([net.listener([server])])
                #expect(try await client.ask("1", net.service()).text == "a 1")
                try net.balancer.set("ipv4/ip_forward", to: "0")
                try await eventually("the next are dropped, too") {
                    try client.send("x", to: net.service())
                    return try await rig.counters().drops[.unreachable, default: 0] > 5
                }
                let counters = try await rig.counters()
                let dropped = counters.drops[.unreachable, default: 0]
                #expect(counters.packetsReceived == counters.packetsForwarded + dropped)
                await rig.stop()
            }
        }

        @Test("the host's setting decides for IPv6 forwarding, not the interface's")
        func interfaceOff() async throws {
            let net = try NATNet(.routed)
            let server = try net.server(0, .v6)
            try net.balancer.set("ipv6/conf/lb0/forwarding", to: "0")
            try await net.balancer.run {
                let rig = try await net.rig([net.listener([server], .v6)])
                let client = try net.talker(.v6)
                for number in 1...5 {
                    let answer = try await client.ask("\(number)", net.service(.v6))
                    #expect(answer.text == "a \(number)")
                }
                #expect(try await rig.counters().drops.isEmpty)
                try net.balancer.set("ipv6/conf/all/forwarding", to: "0")
                try await eventually("the host does not, either") {
                    try client.send("x", to: net.service(.v6))
                    return try await rig.counters().drops[.unreachable, default: 0] > 0
                }
                await rig.stop()
            }
        }

        @Test("a packet to a server on the balancer by a local route is no drop")
        func localRoute() async throws {
            let net = try NATNet(.routed)
            try net.balancer.ip("route add local 10.77.0.0/24 dev lo")
            let own = Endpoint(IPAddress(v4: 0x0a4d_0007), port: 5683)
            try await net.balancer.run {
                let sink = try Sink(on: own.address, port: own.port)
                var listener = net.listener([])
                listener.downstreams = [Downstream(name: "own", endpoint: own)]
                let rig = try await net.rig([listener])
                let client = try net.talker()
                for _ in 0..<5 { try client.send("x", to: net.service()) }
                try await eventually("they arrive") { sink.arrivals == 5 }
                #expect(try await rig.counters().drops.isEmpty)
                await rig.stop()
            }
        }

        @Test("counters do not fall when a listener is removed")
        func events() async throws {
            let net = try NATNet(.routed)
            let (first, second) = (try net.server(0), try net.server(1, port: 5684))
            try await net.balancer.run {
                var other = net.listener([second], port: 5684)
                other.name = "other"
                let rig = try await net.rig([net.listener([first]), other])
                for port: UInt16 in [5683, 5684] {
                    _ = try await net.talker().ask("1", net.service(port: port))
                }
                #expect(await rig.plane.events()["ingress_new_nat"] == 2)
                try await rig.apply([net.listener([first])])
                #expect(await rig.plane.events()["ingress_new_nat"] == 2)
                _ = try await net.talker().ask("2", net.service())
                #expect(await rig.plane.events()["ingress_new_nat"] == 3)
                await rig.stop()
            }
        }

        @Test("a server on the balancer itself is logged with a remedy")
        func local() async throws {
            let (net, log) = (try NATNet(.routed), LogRecorder())
            let server = try net.server(0)
            try await net.balancer.run {
                var listener = net.listener([server])
                listener.downstreams.append(
                    Downstream(name: "own", endpoint: Endpoint(VethLab.v4(1, 1), port: 5683)))
                let rig = try await net.rig([listener], logger: log.logger)
                let said = log.lines("packets will not get through").map(\.fields)
                #expect(said.map { $0["reason"]?.contains("own: on this host") } == [true])
                // Mode userspace would lose every reply.
                #expect(said.first?["remedy"]?.contains("userspace") == false, "\(said)")
                await rig.stop()
            }
        }
    }
}
