// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing
import Tiers

extension XDPNATPlaneTests {
    @Suite("With many clients", .tags(.load))
    struct CrowdTests {
        @Test(
            "50 000 clients get equal shares of the servers, and keep them",
            .timeLimit(.minutes(4)))
        func fiftyThousand() async throws {
            try await inLab(.routed) { net, servers, rig in
                // A client is an address and a port, so its socket may be closed in between.
                var first: [String] = []
                for start in stride(from: 0, to: 50_000, by: 5000) {
                    first += try await ask(net.manyClients(5000, from: start), net.service())
                }
                #expect(first.count == 50_000)
                // Equal, except that each processor has its own round robin.
                for name in ["a x", "b x", "c x"] {
                    #expect((16_600...16_734).contains(first.count { $0 == name }))
                }
                for start in stride(from: 0, to: 50_000, by: 5000) {
                    let again = try await ask(net.manyClients(5000, from: start), net.service())
                    #expect(again == Array(first[start..<start + 5000]))
                }
                let counters = try await rig.counters()
                #expect(counters.packetsForwarded == 100_000 && counters.drops == [:])
                #expect(counters.replies?.packetsForwarded == 100_000)
            }
        }

        @Test(
            "50 000 unanswered sources evict none of 1000 answered ones",
            .timeLimit(.minutes(4)))
        func flood() async throws { try await flood(50_000) }

        @Test(
            "a million unanswered sources evict none of 1000 answered ones", .tags(.exhaustive),
            .timeLimit(.minutes(4)))
        func largeFlood() async throws { try await flood(1_000_000) }

        private func flood(_ sources: Int) async throws {
            let net = try NATNet(.routed)
            let servers = try (0..<3).map { try net.server($0) }
            let nat = NATSettings(maxAssociations: 4096)
            try await net.balancer.run {
                let rig = try await net.rig([net.listener(servers, nat: nat)])
                let clients = try net.manyClients(1000)
                let before = try await ask(clients, net.service())
                let sent = try net.client.enter {
                    try Flood(to: net.service()).send(sources: sources)
                }
                #expect(sent == sources)
                try await eventually(within: .seconds(60), "the flood is over") {
                    try await rig.counters().packetsReceived == sources + 1000
                }
                try await eventually(within: .seconds(60), "the servers have read it") {
                    let seen = servers.map(\.ignored)
                    try await Task.sleep(for: .milliseconds(50))
                    return servers.map(\.ignored) == seen
                }
                #expect(try await ask(clients, net.service()) == before)
                let events = await rig.plane.events()
                #expect(events["ingress_new_nat"] == UInt64(sources + 1000))
                let inspection = try #require(try inspected(net).first)
                let answered = try inspection.associations.count(where: \.isAnswered)
                #expect(answered == 1000)
                await rig.stop()
            }
        }

        @Test("without the protection the same flood evicts many of them")
        func unprotected() async throws {
            let net = try NATNet(.routed)
            let servers = try (0..<3).map { try net.server($0) }
            let nat = NATSettings(maxAssociations: 4096, keepsUnansweredApart: false)
            try await net.balancer.run {
                let rig = try await net.rig([net.listener(servers, nat: nat)])
                // More than the 128 that a processor may keep in its own free list
                // (kernel/bpf/bpf_lru_list.c), where a flood on another processor does not reach them.
                let clients = try net.manyClients(1000)
                _ = try await ask(clients, net.service())
                _ = try net.client.enter { try Flood(to: net.service()).send(sources: 50_000) }
                try await eventually(within: .seconds(30), "the flood is over") {
                    try await rig.counters().packetsReceived == 51_000
                }
                let left = try #require(try inspected(net).first).clients
                // Some 500 of 1000: the kernel moves entries that were used more than once to the back.
                #expect(clients.count { left.contains($0.endpoint) } < 900)
                await rig.stop()
            }
        }
    }
}
