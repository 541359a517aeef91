// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing

extension XDPNATPlaneTests {
    @Suite("By protocol and port")
    struct TransportTests {
        /// Without offload: checksums are computed by the sender, and verified by the receiver.
        private func lab(_ way: NATNet.Way) throws -> NATNet {
            let net = try NATNet(way, servers: 2)
            try net.client.command("ethtool -K c0 tx off tso off gso off gro off")
            for server in net.servers {
                try server.command("ethtool -K in0 tx off tso off gso off gro off")
            }
            return net
        }

        /// Half a megabyte in which no two segments are equal.
        private static let bytes = (0..<1 << 19).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) }

        @Test(
            "TCP connections go through, each to one server, and all their bytes in both directions",
            arguments: NATNet.Way.allCases, [IPAddress.Family.v4, .v6])
        func tcp(way: NATNet.Way, family: IPAddress.Family) async throws {
            let net = try lab(way)
            let service = net.service(family)
            let listening = try net.servers.enumerated().map { index, server in
                try server.enter {
                    try Stream.listening(
                        on: Endpoint(VethLab.address(family, index + 1, 2), port: service.port))
                }
            }
            var listener = net.listener([], family, nat: NATSettings(transport: .tcp))
            listener.downstreams = (0..<2).map {
                Downstream(
                    name: "s\($0)",
                    endpoint: Endpoint(VethLab.address(family, $0 + 1, 2), port: service.port))
            }
            try await net.balancer.run { [listener] in
                let rig = try await net.rig([listener])
                let first = try net.client.enter { try Stream.connecting(to: service) }
                let inFirst = try await Stream.accepted(by: listening)
                let second = try net.client.enter { try Stream.connecting(to: service) }
                let inSecond = try await Stream.accepted(by: listening)
                #expect(try await first.send(Self.bytes, to: inFirst) == Self.bytes)
                #expect(try await inFirst.send(Self.bytes, to: first) == Self.bytes)
                #expect(try await second.send([1, 2], to: inSecond) == [1, 2])
                let counters = try await rig.counters()
                #expect(counters.isBalanced && counters.drops == [:])
                #expect(counters.replies?.drops == [:])
                #expect(counters.bytesForwarded >= UInt64(Self.bytes.count))
                let known = try #require(try inspected(net).first).associations
                #expect(known.count == 2)
                #expect(known.allSatisfy { $0.transport == .tcp && $0.isAnswered })
                await rig.stop()
            }
        }

        @Test(
            "with protocol both, a port serves datagrams and connections",
            arguments: NATNet.Way.allCases)
        func both(way: NATNet.Way) async throws {
            let net = try lab(way)
            let server = try net.server(0)
            let listening = try net.servers[0].enter {
                try Stream.listening(on: server.endpoint)
            }
            let listener = net.listener([server], nat: NATSettings(transport: .both))
            try await net.balancer.run {
                let rig = try await net.rig([listener])
                let stream = try net.client.enter { try Stream.connecting(to: net.service()) }
                let inside = try await Stream.accepted(by: [listening])
                #expect(try await inside.send([3], to: stream) == [3])
                #expect(try await net.talker().ask("x", net.service()).text == "a x")
                #expect(try inspected(net).first?.associations.count == 2)
                await rig.stop()
            }
        }

        @Test(
            "an offloaded checksum of a host on this machine is correct where it is completed",
            arguments: [IPAddress.Family.v4, .v6])
        func leftToDevice(family: IPAddress.Family) async throws {
            let net = try NATNet(.oneArm, servers: 1)
            // Hosts offload the checksum; the gateway completes it on the last link, in both directions.
            for name in ["gc0", "gs0"] { try net.gateway?.command("ethtool -K \(name) tx off") }
            let server = try net.server(0, family)
            let listening = try net.servers[0].enter {
                try Stream.listening(on: server.endpoint)
            }
            let listener = net.listener([server], family, nat: NATSettings(transport: .both))
            try await net.balancer.run {
                let rig = try await net.rig([listener])
                // With this port and these words the checksums identify their packets.
                let client = try net.talker(family, port: 40_000)
                for text in ["first", "", String(repeating: "x", count: 1400)] {
                    #expect(try await client.ask(text, net.service(family)).text == "a " + text)
                }
                let stream = try net.client.enter { try Stream.connecting(to: net.service(family)) }
                let inside = try await Stream.accepted(by: [listening])
                #expect(try await stream.send(Self.bytes, to: inside) == Self.bytes)
                #expect(try await inside.send(Self.bytes, to: stream) == Self.bytes)
                let counters = try await rig.counters()
                #expect(counters.isBalanced && counters.drops == [:])
                await rig.stop()
            }
        }

        @Test(
            "a server may have another port than the virtual address",
            arguments: NATNet.Way.allCases, [IPAddress.Family.v4, .v6])
        func mapped(way: NATNet.Way, family: IPAddress.Family) async throws {
            let net = try lab(way)
            let servers = [
                try net.server(0, family, port: 7000), try net.server(1, family, port: 7001),
            ]
            try await net.balancer.run {
                let rig = try await net.rig([net.listener(servers, family)])
                for _ in 0..<2 {
                    let client = try net.talker(family)
                    let name = try await client.ask("first", net.service(family)).text.prefix(1)
                    for turn in 0..<3 {
                        let answer = try await client.ask("\(turn)", net.service(family))
                        #expect(answer.text == "\(name) \(turn)")
                        #expect(answer.from == net.service(family))
                    }
                }
                // Without a request, to a new client.
                let other = try net.talker(family)
                try servers[1].talker.send("news", to: other.endpoint)
                let news = try await other.hear()
                #expect(news.text == "news" && news.from == net.service(family))
                await rig.stop()
            }
        }
    }
}
