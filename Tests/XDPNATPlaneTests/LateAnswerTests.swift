// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension XDPNATPlaneTests {
    /// Servers that answer when the test says so: "a" at once, and a slow one that has left by then.
    @Suite("Answers of servers that have left")
    struct LateAnswerTests {
        @Test(
            "they come from the virtual address, whoever serves the client by then",
            arguments: NATNet.Way.allCases, [IPAddress.Family.v4, .v6])
        func late(way: NATNet.Way, family: IPAddress.Family) async throws {
            let net = try NATNet(way)
            let (other, slow) = (try net.server(0, family), try net.slowServer(1, family))
            try await net.balancer.run {
                let rig = try await net.rig([net.listener(to: [slow], family)])
                let clients = try (0..<2).map { _ in try net.talker(family) }
                for client in clients { try client.send("1", to: net.service(family)) }
                let asked = [try await slow.hear().from, try await slow.hear().from]
                try await rig.apply([net.listener([other], family)])
                // The first one speaks again meanwhile, and has another server by that.
                let answer = try await clients[0].ask("2", net.service(family))
                #expect(answer == ("a 2", net.service(family)))
                for client in asked { try slow.send("late", to: client) }
                for client in clients {
                    #expect(try await client.hear() == ("late", net.service(family)))
                }
                let counters = try await rig.counters()
                #expect(counters.answers?.packetsForwarded == 3 && counters.answers?.drops == [:])
                #expect(try await clients[1].ask("3", net.service(family)).text == "a 3")
                await rig.stop()
            }
        }

        @Test("in fragments, too", arguments: [IPAddress.Family.v4, .v6])
        func fragments(family: IPAddress.Family) async throws {
            let net = try NATNet(.routed)
            let (other, slow) = (try net.server(0, family), try net.slowServer(1, family))
            try await net.balancer.run {
                let rig = try await net.rig([net.listener(to: [slow], family)])
                let client = try net.talker(family)
                try client.send("1", to: net.service(family))
                let asked = try await slow.hear().from
                try await rig.apply([net.listener([other], family)])
                let long = String(repeating: "x", count: 1900)
                try slow.send(long, to: asked)
                #expect(try await client.hear() == (long, net.service(family)))
                await rig.stop()
            }
        }

        @Test("one that has come back answers what it was asked before, too")
        func returned() async throws {
            let net = try NATNet(.routed)
            let (other, slow) = (try net.server(0), try net.slowServer(1))
            try await net.balancer.run {
                let rig = try await net.rig([net.listener(to: [slow])])
                let client = try net.talker()
                try client.send("1", to: net.service())
                let asked = try await slow.hear().from
                try await rig.apply([net.listener([other])])
                #expect(try await client.ask("2", net.service()).text == "a 2")
                try await rig.apply([net.listener(to: [other.talker, slow])])
                try slow.send("late", to: asked)
                #expect(try await client.hear() == ("late", net.service()))
                #expect(try await client.ask("3", net.service()).text == "a 3")
                await rig.stop()
            }
        }

        @Test("one that health checks keep out goes on answering what it was asked")
        func keptOut() async throws {
            let net = try NATNet(.routed)
            let (other, slow) = (try net.server(0), try net.slowServer(1))
            try await net.balancer.run {
                var listener = net.listener(to: [slow, other.talker])
                listener.downstreams[1].isEnabled = false
                let rig = try await net.rig([listener])
                let client = try net.talker()
                try client.send("1", to: net.service())
                let asked = try await slow.hear().from
                listener.downstreams[0].isEnabled = false
                listener.downstreams[1].isEnabled = true
                try await rig.apply([listener])
                try slow.send("late", to: asked)
                #expect(try await client.hear() == ("late", net.service()))
                await rig.stop()
            }
        }

        @Test("what such a server sends to others is not touched")
        func others() async throws {
            let net = try NATNet(.routed)
            let (other, slow) = (try net.server(0), try net.slowServer(1))
            try await net.balancer.run {
                let rig = try await net.rig([net.listener(to: [slow])])
                try await rig.apply([net.listener([other])])
                let stranger = try net.talker()
                try slow.send("own", to: stranger.endpoint)
                #expect(try await stranger.hear() == ("own", slow.endpoint))
                #expect(try await rig.counters().answers?.packetsReceived == 0)
                await rig.stop()
            }
        }

        @Test("after their time they are not translated, and the interface is left")
        func over() async throws {
            let net = try NATNet(.routed)
            let (other, slow) = (try net.server(0), try net.slowServer(1))
            try await net.balancer.run {
                let rig = try await net.rig(
                    [net.listener(to: [slow])], lateAnswers: .milliseconds(500))
                let client = try net.talker()
                try client.send("1", to: net.service())
                let asked = try await slow.hear().from
                try await rig.apply([net.listener([other])])
                #expect(await rig.plane.attachments().map(\.interface).contains("out1"))
                try await eventually("the interface is left") {
                    await !rig.plane.attachments().map(\.interface).contains("out1")
                }
                try slow.send("too late", to: asked)
                #expect(try await client.hear() == ("too late", slow.endpoint))
                #expect(try await client.ask("2", net.service()) == ("a 2", net.service()))
                await rig.stop()
            }
        }
    }
}

extension NATNet {
    fileprivate func slowServer(
        _ number: Int, _ family: IPAddress.Family = .v4
    ) throws -> Talker {
        try servers[number].enter {
            try Talker(on: VethLab.address(family, number + 1, 2), port: 5683)
        }
    }

    fileprivate func listener(
        to servers: [Talker], _ family: IPAddress.Family = .v4
    ) -> Listener {
        var result = listener([], family)
        result.downstreams = servers.map {
            Downstream(name: "\($0.endpoint)", endpoint: $0.endpoint)
        }
        return result
    }
}
