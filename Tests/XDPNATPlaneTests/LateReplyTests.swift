// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension XDPNATPlaneTests {
    @Suite("Replies of removed servers")
    struct LateReplyTests {
        @Test(
            "they come from the virtual address, also when the client has another server",
            arguments: NATNet.Way.allCases, [IPAddress.Family.v4, .v6])
        func late(way: NATNet.Way, family: IPAddress.Family) async throws {
            try await inScene(way, family) { scene in
                try await scene.slowLeaves()
                try scene.slow.send("late", to: scene.asked)
                #expect(try await scene.client.hear() == ("late", scene.service))
                // The client sends again, and so has another server.
                #expect(try await scene.client.ask("2", scene.service) == ("a 2", scene.service))
                try scene.slow.send("later", to: scene.asked)
                #expect(try await scene.client.hear() == ("later", scene.service))
                let counters = try await scene.rig.counters()
                #expect(counters.replies?.packetsForwarded == 3 && counters.replies?.drops == [:])
                #expect(try await scene.client.ask("3", scene.service).text == "a 3")
            }
        }

        @Test("in fragments, too", arguments: [IPAddress.Family.v4, .v6])
        func fragments(family: IPAddress.Family) async throws {
            try await inScene(.routed, family) { scene in
                try await scene.slowLeaves()
                let long = String(repeating: "x", count: 1900)
                try scene.slow.send(long, to: scene.asked)
                #expect(try await scene.client.hear() == (long, scene.service))
            }
        }

        @Test("a server that is added again can also answer earlier requests")
        func returned() async throws {
            try await inScene { scene in
                try await scene.slowLeaves()
                #expect(try await scene.client.ask("2", scene.service).text == "a 2")
                try await scene.serve([scene.other.endpoint, scene.slow.endpoint])
                try scene.slow.send("late", to: scene.asked)
                #expect(try await scene.client.hear() == ("late", scene.service))
                #expect(try await scene.client.ask("3", scene.service).text == "a 3")
            }
        }

        @Test("a server that is added again gets a client it sends to, unless another has it")
        func speaksFirst() async throws {
            try await inScene { scene in
                try await scene.slowLeaves()
                try await scene.serve([scene.other.endpoint, scene.slow.endpoint])
                try scene.slow.send("late", to: scene.asked)
                #expect(try await scene.client.hear() == ("late", scene.service))
                for question in ["2", "3", "4"] {
                    try scene.client.send(question, to: scene.service)
                    #expect(try await scene.slow.hear().text == question)
                }
            }
        }

        @Test("an unhealthy server can answer earlier requests")
        func keptOut() async throws {
            try await inScene { scene in
                try await scene.serve(
                    [scene.other.endpoint, scene.slow.endpoint], keepingOut: scene.slow.endpoint)
                try scene.slow.send("late", to: scene.asked)
                #expect(try await scene.client.hear() == ("late", scene.service))
            }
        }

        @Test("packets of such a server to other hosts are not changed")
        func others() async throws {
            try await inScene { scene in
                try await scene.slowLeaves()
                let stranger = try scene.net.talker()
                try scene.slow.send("own", to: stranger.endpoint)
                #expect(try await stranger.hear() == ("own", scene.slow.endpoint))
                #expect(try await scene.rig.counters().replies?.packetsReceived == 0)
            }
        }

        @Test("after the timeout they are not translated, and the program leaves the interface")
        func over() async throws {
            try await inScene(lateReplies: .seconds(3)) { scene in
                try await scene.slowLeaves()
                #expect(await scene.interfaces().contains("out1"))
                try await eventually("the program leaves the interface") {
                    await !scene.interfaces().contains("out1")
                }
                try scene.slow.send("too late", to: scene.asked)
                #expect(try await scene.client.hear() == ("too late", scene.slow.endpoint))
                #expect(try await scene.client.ask("2", scene.service) == ("a 2", scene.service))
            }
        }
    }
}

/// A slow server with an open request of a client, and another one that answers at once as "a".
private struct Scene {
    let net: NATNet
    let rig: Rig
    let other: EchoServer
    let slow: Talker
    let client: Talker
    let service: Endpoint
    /// The client as the slow server sees it.
    let asked: Endpoint

    func slowLeaves() async throws { try await serve([other.endpoint]) }

    func serve(_ servers: [Endpoint], keepingOut unhealthy: Endpoint? = nil) async throws {
        try await rig.apply([net.listener(to: servers, service, keepingOut: unhealthy)])
    }

    func interfaces() async -> [String] { await rig.plane.attachments().map(\.interface) }
}

private func inScene(
    _ way: NATNet.Way = .routed, _ family: IPAddress.Family = .v4,
    lateReplies: Duration = .seconds(30), _ body: @escaping @Sendable (Scene) async throws -> Void
) async throws {
    let net = try NATNet(way)
    let (service, other) = (net.service(family), try net.server(0, family))
    let slow = try net.servers[1].enter {
        try Talker(on: VethLab.address(family, 2, 2), port: service.port)
    }
    try await net.balancer.run {
        let rig = try await net.rig(
            [net.listener(to: [slow.endpoint], service)], lateReplies: lateReplies)
        let client = try net.talker(family)
        try client.send("1", to: service)
        let asked = try await slow.hear().from
        try await body(
            Scene(
                net: net, rig: rig, other: other, slow: slow, client: client, service: service,
                asked: asked))
        await rig.stop()
    }
}

extension NATNet {
    fileprivate func listener(
        to servers: [Endpoint], _ service: Endpoint, keepingOut unhealthy: Endpoint? = nil
    ) -> Listener {
        var result = listener([], service.address.family)
        result.downstreams = servers.map { server in
            var downstream = Downstream(name: "\(server)", endpoint: server)
            downstream.isEnabled = server != unhealthy
            return downstream
        }
        return result
    }
}
