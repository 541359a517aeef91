// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension XDPNATPlaneTests {
    /// The statements of the section "Behavior" of sbulb's README, one by one.
    @Suite("Behaves as sbulb documents")
    struct BehaviourTests {
        @Test(
            "ingress: with an association, the destination becomes the real server",
            arguments: NATNet.Way.allCases)
        func ingressKnown(way: NATNet.Way) async throws {
            try await inLab(way) { net, servers, rig in
                let client = try net.talker()
                _ = try await client.ask("first", net.service())
                let answer = try await client.ask("second", net.service())
                #expect(answer.text == "a second")
                #expect(servers[0].questions.count == 2)
                let events = await rig.plane.events()
                #expect(events["ingress_new_nat"] == 1 && events["ingress_reused_nat"] == 1)
            }
        }

        @Test(
            "ingress: without one, round robin picks a real server and an association is made",
            arguments: NATNet.Way.allCases)
        func ingressNew(way: NATNet.Way) async throws {
            try await inLab(way) { net, servers, rig in
                var names: [String] = []
                for _ in 0..<6 {
                    let answer = try await net.talker().ask("x", net.service())
                    names.append(String(answer.text.prefix(1)))
                }
                // Each processor has its own round robin.
                #expect(Set(names) == ["a", "b", "c"], "\(names)")
                #expect(await rig.plane.events()["ingress_new_nat"] == 6)
            }
        }

        @Test(
            "egress: with an association, its server's source becomes the virtual server",
            arguments: NATNet.Way.allCases)
        func egressKnown(way: NATNet.Way) async throws {
            try await inLab(way) { net, servers, rig in
                let client = try net.talker()
                #expect(try await client.ask("x", net.service()).from == net.service())
                // Later, and without a request.
                try servers[0].talker.send("news", to: client.endpoint)
                let news = try await client.hear()
                #expect(news.text == "news" && news.from == net.service())
                let events = await rig.plane.events()
                #expect(events["egress_reused_nat"] == 2 && events["egress_new_nat"] == 0)
            }
        }

        @Test(
            "egress: another server's packet is dropped, and counted",
            arguments: NATNet.Way.allCases)
        func egressForeign(way: NATNet.Way) async throws {
            try await inLab(way) { net, servers, rig in
                let client = try net.talker()
                _ = try await client.ask("x", net.service())
                try servers[1].talker.send("not yours", to: client.endpoint)
                try await eventually("it is dropped") {
                    await rig.plane.events()["egress_not_authorized"] == 1
                }
                #expect(try await client.ask("y", net.service()).text == "a y")
                #expect(try client.heard() == nil)
                let counters = try await rig.counters()
                #expect(counters.replies?.drops == [.notPermitted: 1])
                #expect(counters.replies?.isBalanced == true && counters.isBalanced)
                #expect(counters.drops == [:])
            }
        }

        @Test(
            "egress: without an association one is made, as if the client had sent first",
            arguments: NATNet.Way.allCases, [IPAddress.Family.v4, .v6])
        func egressNew(way: NATNet.Way, family: IPAddress.Family) async throws {
            try await inLab(way, family) { net, servers, rig in
                let client = try net.talker(family)
                // The round robin would give the first client to the first server.
                try servers[2].talker.send("wake up", to: client.endpoint)
                let call = try await client.hear()
                #expect(call.text == "wake up" && call.from == net.service(family))
                #expect(try await client.ask("yes?", call.from).text == "c yes?")
                #expect(await rig.plane.events()["egress_new_nat"] == 1)
            }
        }

        @Test("an association is evicted only when the map is full, the oldest first")
        func eviction() async throws {
            let net = try NATNet(.routed)
            let servers = try (0..<3).map { try net.server($0) }
            // The kernel evicts in batches (kernel/bpf/bpf_lru_list.c), so the numbers are round.
            let nat = NATSettings(maxAssociations: 1024, keepsUnansweredApart: false)
            try await net.balancer.run {
                let rig = try await net.rig([net.listener(servers, nat: nat)])
                let inspection = try #require(try inspected(net).first)
                let clients = try net.manyClients(1500)
                let first = try await ask(clients[..<800], net.service())
                #expect(first.count == 800)
                #expect(try inspection.clients.count == 800)
                // These are used again, and so are newer than the others of the first.
                let kept = clients[400..<800]
                _ = try await ask(kept, net.service())
                _ = try await ask(clients[800..<1300], net.service())
                let left = try inspection.clients
                #expect(left.count <= 1024)
                let old = clients[..<400].count { left.contains($0.endpoint) }
                let used = kept.count { left.contains($0.endpoint) }
                let new = clients[800..<1300].count { left.contains($0.endpoint) }
                // A processor keeps up to 128 entries in its own free list, unavailable to the others.
                #expect(used > 270 && new > 370 && old < 260, "\(old) \(used) \(new)")
                await rig.stop()
            }
        }

        @Test("by default associations do not expire")
        func noTimeout() {
            #expect(NATSettings().maxAssociations == 1_048_576)
        }
    }
}

extension XDPNATPlaneTests {
    /// Three servers behind a plane.
    static func inLab(
        _ way: NATNet.Way, _ family: IPAddress.Family = .v4,
        _ body: @Sendable (NATNet, [EchoServer], Rig) async throws -> Void
    ) async throws {
        let net = try NATNet(way)
        let servers = try (0..<3).map { try net.server($0, family) }
        try await net.balancer.run {
            let rig = try await net.rig([net.listener(servers, family)])
            try await body(net, servers, rig)
            let counters = try await rig.counters()
            #expect(counters.isBalanced && counters.replies?.isBalanced == true)
            await rig.stop()
            #expect(net.pins.isEmpty)
        }
    }
}

func inLab(
    _ way: NATNet.Way, _ family: IPAddress.Family = .v4,
    _ body: @Sendable (NATNet, [EchoServer], Rig) async throws -> Void
) async throws { try await XDPNATPlaneTests.inLab(way, family, body) }
