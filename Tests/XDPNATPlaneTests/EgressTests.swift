// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import FanoutCore
import Glibc
import LabNet
import PlaneContract
import Testing

extension XDPNATPlaneTests {
    /// A veth transmits XDP frames while its other end has GRO or an XDP program.
    @Suite("Over links with limits")
    struct EgressTests {
        private static let byStack =
            "packets leave by the network stack, the driver does not transmit XDP frames"
        private static let refusal =
            "the network stack drops replies, their source is an address of this host"

        @Test(
            "where drivers do not transmit, every query is answered through the stack",
            arguments: [IPAddress.Family.v4, .v6])
        func noTransmitters(family: IPAddress.Family) async throws {
            try await inNativeLab(family, gro: "off") { net, rig, log in
                let client = try net.talker(family)
                for number in 0..<50 {
                    let answer = try await client.ask("\(number)", net.service(family))
                    #expect(answer.text == "a \(number)" && answer.from == net.service(family))
                }
                let counters = try await rig.counters()
                #expect(counters.packetsForwarded == 50 && counters.isBalanced)
                #expect(await rig.plane.events()["to_stack"] == 100)
                #expect(await rig.plane.transmitErrors() == ["lb0": 0, "out0": 0])
                let told = log.lines(Self.byStack)
                #expect(told.map { $0.fields["interfaces"] } == ["lb0,out0"])
                #expect(log.lines(Self.refusal).isEmpty)
            }
        }

        @Test("where the stack would drop the replies, that is logged with a remedy")
        func refusedByStack() async throws {
            let (net, log) = (try NATNet(.routed, servers: 1), LogRecorder())
            let server = try net.server(0)
            try net.balancer.set("ipv4/conf/all/accept_local", to: "0")
            try net.client.command("ethtool -K c0 tx off gro off")
            try await net.balancer.run {
                var listener = net.listener([server])
                listener.settings.xdpMode = .native
                let rig = try await net.rig([listener], logger: log.logger)
                let told = log.lines(Self.refusal).map(\.fields)
                #expect(told.map { $0["interfaces"] } == ["lb0,out0"])
                #expect(told.first?["remedy"]?.contains("accept_local=1") == true)
                await rig.stop()
            }
        }

        @Test("a driver that starts or stops supporting transmission is noticed")
        func changing() async throws {
            try await inNativeLab(.v4, gro: "on") { net, rig, _ in
                let client = try net.talker()
                @Sendable func toStack() async -> UInt64 {
                    await rig.plane.events()["to_stack"] ?? 0
                }
                for state in ["off", "on", "off"] {
                    try net.servers[0].command("ethtool -K in0 gro \(state)")
                    try await eventually("GRO is noticed to be \(state)") {
                        let before = await toStack()
                        try client.send("x", to: net.service())
                        let isHeard = try await eventuallyTrue { try client.heard() != nil }
                        let after = await toStack()
                        return isHeard && (after > before) == (state == "off")
                    }
                }
            }
        }

        @Test("a server whose link is down is unreachable, and that is logged")
        func down() async throws {
            let (net, log) = (try NATNet(.routed), LogRecorder())
            let server = try net.server(0)
            try await net.balancer.run {
                let rig = try await net.rig([net.listener([server])], logger: log.logger)
                let client = try net.talker()
                #expect(try await client.ask("1", net.service()).text == "a 1")
                try net.servers[0].ip("link set in0 down")
                try await eventually("it is unreachable") {
                    try client.send("x", to: net.service())
                    return try await rig.counters().drops[.unreachable, default: 0] > 5
                }
                let forwarded = try await rig.counters().packetsForwarded
                for _ in 0..<20 { try client.send("x", to: net.service()) }
                try await eventually("all are counted") {
                    try await rig.counters().drops[.unreachable, default: 0] >= 25
                }
                #expect(try await rig.counters().packetsForwarded == forwarded)
                #expect(try await rig.counters().isBalanced)
                #expect(
                    log.lines("packets will not get through").contains {
                        $0.fields["reason"] == "the link to a has no carrier"
                    })
                #expect(await rig.plane.obstructions().map(\.receivers) == [["a"]])
                try net.servers[0].ip("link set in0 up")
                try net.servers[0].ip("route replace default via \(VethLab.v4(1, 1))")
                try await eventually("it is reached again") {
                    try client.send("2", to: net.service())
                    return try client.heard() != nil
                }
                await rig.stop()
            }
        }

        @Test(
            "a packet above the MTU of a server's link is dropped, and its sender learns the MTU",
            arguments: [IPAddress.Family.v4, .v6], [XDPAttach.skb, .native])
        func tooLong(family: IPAddress.Family, attach: XDPAttach) async throws {
            try await inLab(family, attach, gro: "on") { net, rig, _ in
                let client = try net.talker(family)
                #expect(try await client.ask("1", net.service(family)).text == "a 1")
                try net.balancer.ip("link set out0 mtu 1400")
                try net.servers[0].ip("link set in0 mtu 1400")
                let long = String(repeating: "x", count: 1420)
                try await eventually("the MTU is known to the client") {
                    // The plane reports packets that it refuses at once.
                    try? client.send(long, to: net.service(family))
                    let route = try net.client.enter {
                        try Shell.output("ip route get \(net.service(family).address)")
                    }
                    return route.contains("mtu 1400")
                }
                let counters = try await rig.counters()
                #expect(counters.drops[.messageTooLong, default: 0] > 0 && counters.isBalanced)
                // Now the client fragments longer packets.
                try await eventually("it is answered in full") {
                    try? client.send(long, to: net.service(family))
                    return try client.heard()?.text == "a \(long)"
                }
            }
        }

        @Test(
            "packets that a driver refuses are counted by its interface",
            arguments: [XDPAttach.native, .skb])
        func refused(attach: XDPAttach) async throws {
            try await inLab(.v4, attach, gro: "on") { net, rig, _ in
                let client = try net.talker()
                #expect(try await client.ask("1", net.service()).text == "a 1")
                // The route's MTU differs from the link's.
                try net.balancer.ip("link set out0 mtu 1400")
                try net.balancer.ip("route replace \(VethLab.v4(1, 0))/24 dev out0 mtu lock 1500")
                let before = try await rig.counters().packetsForwarded
                let long = String(repeating: "x", count: 1420)
                try await eventually("it is counted") {
                    try? client.send(long, to: net.service())
                    return await rig.plane.transmitErrors()["out0", default: 0] >= 10
                }
                let counters = try await rig.counters()
                #expect(counters.packetsForwarded >= before + 10 && counters.isBalanced)
                #expect(await rig.plane.transmitErrors()["lb0"] == 0)
            }
        }

        @Test("so are packets that a driver does not send back, with one arm")
        func notTurned() async throws {
            let net = try NATNet(.oneArm)
            let server = try net.server(0)
            try net.gateway?.command("ethtool -K gb0 tx off gro off")
            try await net.balancer.run {
                var listener = net.listener([server])
                listener.settings.xdpMode = .native
                let rig = try await net.rig([listener])
                let client = try net.talker()
                for _ in 0..<5 { try client.send("x", to: net.service()) }
                try await eventually("they are counted") {
                    await rig.plane.transmitErrors()["lb0"] == 5
                }
                #expect(try await rig.counters().packetsForwarded == 5)
                await rig.stop()
            }
        }

        /// A client, a server, and the program in the drivers between them.
        private func inNativeLab(
            _ family: IPAddress.Family, gro: String,
            _ body: @escaping @Sendable (NATNet, Rig, LogRecorder) async throws -> Void
        ) async throws {
            try await inLab(family, .native, gro: gro, body)
        }

        /// - Parameter gro: whether the other ends of the balancer's links have GRO.
        private func inLab(
            _ family: IPAddress.Family, _ attach: XDPAttach, gro: String,
            _ body: @escaping @Sendable (NATNet, Rig, LogRecorder) async throws -> Void
        ) async throws {
            let (net, log) = (try NATNet(.routed, servers: 1), LogRecorder())
            let server = try net.server(0, family)
            // No driver completes an offloaded checksum here.
            try net.client.command("ethtool -K c0 tx off gro \(gro)")
            try net.servers[0].command("ethtool -K in0 tx off gro \(gro)")
            try await net.balancer.run {
                var listener = net.listener([server], family)
                listener.settings.xdpMode = attach
                let rig = try await net.rig([listener], logger: log.logger)
                try await body(net, rig, log)
                await rig.stop()
            }
        }

        /// Whether a condition becomes true soon.
        private func eventuallyTrue(
            _ condition: @escaping @Sendable () throws -> Bool
        ) async throws -> Bool {
            for _ in 0..<50 {
                if try condition() { return true }
                try await Task.sleep(for: .milliseconds(5))
            }
            return false
        }
    }
}
