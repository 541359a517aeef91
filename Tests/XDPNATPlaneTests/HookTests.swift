// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import FanoutCore
import Glibc
import KernelPrograms
import LabNet
import PlaneContract
import Testing

extension XDPNATPlaneTests {
    @Suite("At the hooks")
    struct HookTests {
        @Test("routed, the servers' interfaces have the program too; with one arm, one has it")
        func places() async throws {
            for way in NATNet.Way.allCases {
                let net = try NATNet(way)
                let servers = try (0..<2).map { try net.server($0) }
                try await net.balancer.run {
                    let log = LogRecorder()
                    let rig = try await net.rig([net.listener(servers)], logger: log.logger)
                    let attached = log.lines("attached XDP program")
                    let wanted = way == .routed ? ["lb0", "out0", "out1"] : ["lb0"]
                    #expect(attached.compactMap { $0.fields["interface"] }.sorted() == wanted)
                    #expect(attached.allSatisfy { $0.fields["mode"] == "skb" })
                    #expect(
                        await rig.plane.attachments()
                            == wanted.map {
                                Attachment(mode: .xdpNAT, interface: $0, hook: "skb")
                            })
                    for name in wanted {
                        let found = try XDPOccupant.of(interface: if_nametoindex(name))
                        #expect(found?.name == "xdp_nat_skb")
                    }
                    await rig.stop()
                    for name in wanted {
                        #expect(try XDPOccupant.of(interface: if_nametoindex(name)) == nil)
                    }
                    #expect(net.pins.isEmpty)
                }
            }
        }

        @Test("in the driver, when requested and supported by the peers")
        func native() async throws {
            let net = try NATNet(.routed)
            let servers = try (0..<2).map { try net.server($0) }
            try net.client.command("ethtool -K c0 tx off gro on")
            for server in net.servers { try server.command("ethtool -K in0 tx off gro on") }
            try await net.balancer.run {
                var listener = net.listener(servers)
                listener.settings.xdpMode = .native
                let log = LogRecorder()
                let rig = try await net.rig([listener], logger: log.logger)
                let modes = log.lines("attached XDP program").map { $0.fields["mode"] }
                #expect(modes == ["native", "native", "native"])
                let client = try net.talker()
                for turn in 0..<5 {
                    #expect(try await client.ask("\(turn)", net.service()).text == "a \(turn)")
                }
                await rig.stop()
            }
        }

        @Test("another tool's program stays, and the error names it")
        func occupied() async throws {
            let net = try NATNet(.oneArm)
            let servers = [try net.server(0)]
            try await net.balancer.run {
                var object = try BPFObject(opening: .xdpSteer)
                try object.load()
                let other = try object.program(named: "udp_fanout_xdp")
                let link = try HookLink(attaching: other, to: if_nametoindex("lb0"), .skb)
                let rig = Rig(net.plane())
                do {
                    try await rig.apply([net.listener(servers)])
                    Issue.record("it was attached")
                } catch {
                    #expect("\(error)".contains("the XDP program udp_fanout_xdp"), "\(error)")
                }
                #expect(net.pins.isEmpty)
                #expect(
                    try XDPOccupant.of(interface: if_nametoindex("lb0"))?.name == "udp_fanout_xdp")
                try link.detach()
            }
        }

        /// The pinned link of an interface; must be called in the balancer.
        private func link(_ net: NATNet, _ interface: String) throws -> HookLink {
            let folder = "nat-\(if_nametoindex(interface))-net-\(NetworkNamespace.current)"
            let path = "\(net.pins.path)/udp-fanout/\(folder)/xdp_link"
            guard let link = try HookLink.pinned(at: path) else {
                throw Failed("no link at \(path)")
            }
            return link
        }

        @Test("a detached program is attached again within two seconds, and counted")
        func detached() async throws {
            let net = try NATNet(.oneArm)
            let servers = [try net.server(0)]
            try await net.balancer.run {
                let log = LogRecorder()
                let rig = try await net.rig([net.listener(servers)], logger: log.logger)
                let client = try net.talker()
                #expect(try await client.ask("1", net.service()).text == "a 1")
                for count in 1...2 as ClosedRange<UInt64> {
                    try link(net, "lb0").detach()
                    #expect(try XDPOccupant.of(interface: if_nametoindex("lb0")) == nil)
                    try await eventually(within: .seconds(4), "it is attached again") {
                        try XDPOccupant.of(interface: if_nametoindex("lb0"))?.name == "xdp_nat_skb"
                    }
                    #expect(await rig.plane.attachments().map(\.restores) == [count])
                    #expect(try await client.ask("2", net.service()).text == "a 2")
                }
                #expect(
                    log.lines("the program was detached from the interface, it is attached again")
                        .count == 2)
                await rig.stop()
                #expect(net.pins.isEmpty)
            }
        }

        @Test("a foreign program in its place stays, and is logged once; ours returns after it")
        func foreign() async throws {
            let net = try NATNet(.oneArm)
            let servers = [try net.server(0)]
            try await net.balancer.run {
                let log = LogRecorder()
                let rig = try await net.rig([net.listener(servers)], logger: log.logger)
                var object = try BPFObject(opening: .xdpSteer)
                try object.load()
                let other = try object.program(named: "udp_fanout_xdp")
                try link(net, "lb0").detach()
                let foreign = try HookLink(attaching: other, to: if_nametoindex("lb0"), .skb)
                try await Task.sleep(for: .seconds(5))
                #expect(
                    try XDPOccupant.of(interface: if_nametoindex("lb0"))?.name == "udp_fanout_xdp")
                let said = log.lines("the program cannot be attached again, nothing is forwarded")
                #expect(
                    said.count == 1 && said[0].fields["error"]?.contains("udp_fanout_xdp") == true)
                #expect(await rig.plane.attachments().map(\.restores) == [0])
                try foreign.detach()
                try await eventually(within: .seconds(4), "it is attached again") {
                    try XDPOccupant.of(interface: if_nametoindex("lb0"))?.name == "xdp_nat_skb"
                }
                let client = try net.talker()
                #expect(try await client.ask("1", net.service()).text == "a 1")
                await rig.stop()
            }
        }

        @Test("a change to a mode that the driver refuses changes nothing")
        func refusedMode() async throws {
            let net = try NATNet(.oneArm)
            let servers = [try net.server(0)]
            try await net.balancer.run {
                // A veth refuses a program when its peer has more transmit queues than it has receive queues.
                try net.balancer.ip("link delete lb0")
                let gateway = try #require(net.gateway)
                try net.balancer.ip(
                    "link add lb0 numrxqueues 1 numtxqueues 1 type veth peer name gb0 netns "
                        + "\(gateway.path) numrxqueues 4 numtxqueues 4")
                for (network, name, number) in [(gateway, "gb0", 1), (net.balancer, "lb0", 2)] {
                    try network.ip("link set \(name) up")
                    try network.ip("address add \(VethLab.v4(200, number))/24 dev \(name)")
                }
                try net.balancer.ip("route add default via \(VethLab.v4(200, 1))")
                try gateway.ip("route add default via \(VethLab.v4(200, 2)) table 100")
                var listener = net.listener(servers)
                listener.settings.xdpMode = .skb
                let rig = try await net.rig([listener])
                let client = try net.talker()
                #expect(try await client.ask("1", net.service()).text == "a 1")
                listener.settings.xdpMode = .native
                await #expect(throws: PlaneError.self) { try await rig.apply([listener]) }
                #expect(
                    try XDPOccupant.of(interface: if_nametoindex("lb0"))?.name == "xdp_nat_skb")
                #expect(await rig.plane.attachments().map(\.hook) == ["skb"])
                #expect(try await client.ask("2", net.service()).text == "a 2")
                await rig.stop()
                #expect(net.pins.isEmpty)
            }
        }

        @Test("an interface that is deleted and made again is served again")
        func remade() async throws {
            try await inLab(.routed) { net, servers, rig in
                let client = try net.talker()
                #expect(try await client.ask("1", net.service()).text == "a 1")
                try net.balancer.ip("link del out0")
                try VethLab.connect(net.balancer, "out0", net.servers[0], "in0", subnet: 1)
                try await eventually("the server is reached again") {
                    try client.send("2", to: net.service())
                    return try client.heard()?.text == "a 2"
                }
            }
        }

        @Test("the error for a missing interface lists the existing ones")
        func noInterface() async throws {
            let net = try NATNet(.oneArm)
            let server = try net.server(0)
            try await net.balancer.run {
                var listener = net.listener([server])
                listener.interface = "nowhere"
                let rig = Rig(net.plane())
                do {
                    try await rig.apply([listener])
                    Issue.record("it was attached")
                } catch {
                    #expect("\(error)".contains("lb0"), "\(error)")
                }
                #expect(net.pins.isEmpty)
            }
        }
    }
}
