// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension XDPNATPlaneTests {
    /// featherlb's strategies.
    @Suite("Balances clients by each strategy")
    struct StrategyTests {
        /// The server of each of 300 clients on 30 addresses.
        private func answers(_ balance: Balance) async throws -> [[String]] {
            let net = try NATNet(.routed)
            let servers = try (0..<3).map { try net.server($0) }
            return try await net.balancer.run {
                let rig = try await net.rig([net.listener(servers, balance: balance)])
                let clients = try net.client.enter {
                    try (0..<300).map { number in
                        try Talker(
                            on: VethLab.v4(9, 1 + number % 30), port: UInt16(21_000 + number))
                    }
                }
                let heard = try await ask(clients, net.service())
                let again = try await ask(clients, net.service())
                #expect(again == heard)
                await rig.stop()
                return (0..<30).map { address in
                    stride(from: address, to: 300, by: 30).map { heard[$0] }
                }
            }
        }

        @Test("roundrobin: each server has a third of the clients, with a round robin a processor")
        func roundRobin() async throws {
            let all = try await answers(.roundRobin).flatMap { $0 }
            for name in ["a x", "b x", "c x"] {
                #expect((96...104).contains(all.count { $0 == name }))
            }
        }

        @Test("random: each server has a third, within six standard deviations")
        func random() async throws {
            let all = try await answers(.random).flatMap { $0 }
            // Binomial, n = 300, p = 1/3: 100 ± 6 × 8.2.
            for name in ["a x", "b x", "c x"] {
                #expect((51...149).contains(all.count { $0 == name }))
            }
        }

        @Test("iphash: all clients on one address have one server, and every server has some")
        func ipHash() async throws {
            let byAddress = try await answers(.sourceIP)
            #expect(byAddress.allSatisfy { Set($0).count == 1 })
            #expect(Set(byAddress.flatMap { $0 }) == ["a x", "b x", "c x"])
        }
    }
}
