// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension XDPNATPlaneTests {
    @Suite("At its interfaces")
    struct LinkTests {
        @Test("frames must have the interface's own address, which may change")
        func ownAddress() async throws {
            let net = try NATNet(.routed)
            let server = try net.server(0)
            let (old, new) = ("02:00:00:00:00:88", "02:00:00:00:00:99")
            try net.balancer.ip("link set lb0 address \(old)")
            try net.client.ip("neigh flush dev c0")
            try await net.balancer.run {
                let rig = try await net.rig([net.listener([server])])
                let client = try net.talker()
                #expect(try await client.ask("1", net.service()).text == "a 1")
                try net.balancer.ip("link set lb0 address \(new)")
                let next = "\(VethLab.v4(0, 1)) nud permanent dev c0"
                try net.client.ip("neigh replace \(next) lladdr \(new)")
                try await eventually("the new address is served") {
                    try client.send("2", to: net.service())
                    return try client.heard() != nil
                }
                // Replies may still be on their way.
                var before = try await rig.counters().packetsReceived
                try await eventually("no more replies arrive") {
                    let now = try await rig.counters().packetsReceived
                    defer { before = now }
                    return try client.heard() == nil && now == before
                }
                try net.client.ip("neigh replace \(next) lladdr \(old)")
                for _ in 0..<20 { try client.send("3", to: net.service()) }
                try net.client.ip("neigh replace \(next) lladdr \(new)")
                #expect(try await client.ask("4", net.service()).text == "a 4")
                let counters = try await rig.counters()
                #expect(counters.packetsReceived == before + 1 && counters.isBalanced)
                await rig.stop()
            }
        }

        @Test(
            "a client that sends with a server's address is not associated and reaches no client",
            arguments: [IPAddress.Family.v4, .v6])
        func pretender(family: IPAddress.Family) async throws {
            let net = try NATNet(.routed)
            let servers = try (0..<2).map { try net.server($0, family) }
            try await net.balancer.run {
                var nat = NATSettings()
                nat.maxAssociations = 64
                let rig = try await net.rig([net.listener(servers, family, nat: nat)])
                let clients = try (0..<8).map { _ in try net.talker(family) }
                var names: [Substring] = []
                for client in clients {
                    names.append(try await client.ask("1", net.service(family)).text.prefix(1))
                }
                let sender = try net.client.enter { try PacketSender(family) }
                for port in 1...500 as ClosedRange<UInt16> {
                    let pretended = FragmentedDatagram(
                        [1, 2, 3, 4], from: servers[Int(port) % 2].endpoint,
                        to: Endpoint(VethLab.address(family, 2, 2), port: port),
                        id: UInt32(port), bytes: 1000)
                    try sender.send(0, of: pretended)
                }
                try await eventually("all of them have passed") {
                    await rig.plane.events()["egress_wrong_interface"] == 500
                }
                #expect(await rig.plane.events()["egress_new_nat"] == 0)
                for (client, name) in zip(clients, names) {
                    #expect(try await client.ask("2", net.service(family)).text == "\(name) 2")
                }
                #expect(await rig.plane.events()["ingress_new_nat"] == 8)
                await rig.stop()
            }
        }
    }
}
