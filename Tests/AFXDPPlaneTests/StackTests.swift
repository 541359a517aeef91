// SPDX-License-Identifier: Apache-2.0

import AFXDPPlane
import BPFRuntime
import FanoutCore
import Glibc
import KernelPrograms
import LabNet
import KernelForwarding
import PlaneContract
import TCPlane
import Testing
import UserspacePlane

extension AFXDPPlaneTests {
    @Suite("beside the network stack")
    struct StackTests {
        @Test("fragments, other ports and other protocols reach the stack", arguments: modes)
        func passed(mode: XDPAttach) async throws {
            let lab = try VethLab()
            try await lab.withPost(mode: mode) { post in
                try await post.forwards()
                let beside = try lab.balancer.enter { try Sink(on: VethLab.v4(0, 1)) }
                let other = try lab.client.enter {
                    try Traffic(to: beside.endpoint, from: VethLab.v4(9, 1))
                }
                for _ in 0..<100 { other.send([1, 2]) }
                try await eventually("all arrive") { beside.count == 100 }
                // A datagram in three fragments to the listener's port; the stack has no socket for it.
                let datagram = FragmentedDatagram(
                    [UInt8](repeating: 3, count: 2500),
                    from: Endpoint(VethLab.v4(9, 1), port: 4000), to: post.listener.bind, id: 77,
                    bytes: 1000)
                let sender = try lab.client.enter { try PacketSender(.v4) }
                for index in datagram.packets.indices { try sender.send(index, of: datagram) }
                try await eventually("the stack puts it together") {
                    try Shell.output("nstat -asz IpReasmOKs")
                        .firstMatch(of: #/IpReasmOKs +1/#) != nil
                }
                try lab.client.ip("neigh flush dev c0")
                for _ in 0..<10 { other.send([3]) }
                try await eventually("ARP is answered") { beside.count == 110 }
                let before = try await post.rig.counters().packetsReceived
                try await post.forwardsExactly(10)
                #expect(try await post.rig.counters().packetsReceived == before + 10)
            }
        }

        static let modes: [XDPAttach] = [.native, .skb]

        @Test(
            "priority tags are removed, VLANs pass, padding is ignored, TTL 1 is dropped")
        func frames() async throws {
            let lab = try VethLab()
            try await lab.withPost { post in
                try await post.forwards()
                try await post.usesRing()
                let before = try await post.rig.counters()
                let shown = try lab.balancer.enter {
                    var netlink = try Netlink()
                    return try #require(try netlink.link(named: "lb0")?.mac).bytes
                }
                let sender = try lab.client.enter { try FrameSender(on: "c0") }
                let source = Endpoint(VethLab.v4(9, 1), port: 4001)
                func frame(_ number: UInt8, ttl: UInt8 = 64, tag: UInt16? = nil) -> [UInt8] {
                    FrameSender.frame(
                        to: shown, from: source, to: post.listener.bind, [0x51, number],
                        timeToLive: ttl, tag: tag)
                }
                try sender.send(frame(0))
                try sender.send(frame(1, tag: 0xa000))
                try sender.send(frame(4, tag: 7))
                try sender.send(frame(5, tag: 0xa007))
                try sender.send(frame(2, ttl: 1))
                try sender.send(frame(3, ttl: 2))
                let wanted: [[UInt8]] = [[0x51, 0], [0x51, 1], [0x51, 3]]
                try await eventually("three arrive") {
                    post.sink.datagrams.map(\.payload).filter { $0.first == 0x51 } == wanted
                }
                let after = try await post.rig.settled(at: before.packetsReceived + 4)
                #expect(after.drops[.ttlExpired] == 1)
                #expect(after.bytesReceived == before.bytesReceived + 8)
            }
        }

        /// Our program under another name.
        private func otherTool() throws -> [UInt8] {
            let (ours, other) = (Array("udp_fanout_xdp\0".utf8), Array("another_tool_x\0".utf8))
            var object = try #require(EmbeddedObject.xdpSteer.bytes)
            for start in object.indices where object[start...].starts(with: ours) {
                object.replaceSubrange(start..<start + ours.count, with: other)
            }
            return object
        }

        @Test(
            "an interface with another tool's XDP program is refused, and keeps the program",
            arguments: [HookMode.native, .skb])
        func othersProgram(mode: HookMode) async throws {
            let lab = try VethLab()
            try await lab.balancer.run {
                let index = if_nametoindex("lb0")
                var other = try BPFObject(opening: otherTool(), name: "other")
                try other.load()
                let link = try HookLink(
                    attaching: other.program(named: "another_tool_x"), to: index, mode)
                let before = try #require(try XDPOccupant.of(interface: index))
                let stage = try lab.stage(mode: .auto)
                let listener = try stage.listener(to: stage.sinks(1).downstreams())
                let error = try await #require(throws: PlaneError.self) {
                    _ = try await stage.rig([listener])
                }
                #expect(
                    error.reason == "the XDP program another_tool_x (number \(before.number), "
                        + "\(mode.rawValue)) of another tool is there", "\(error)")
                let (after, still) = (try XDPOccupant.of(interface: index), link.interface)
                #expect(after == before && still == index)
            }
        }

        @Test("an interface that another daemon serves is refused")
        func occupied() async throws {
            let lab = try VethLab()
            try await lab.balancer.run {
                let (first, second) = (try lab.stage(), try lab.stage())
                let sinks = try first.sinks(1)
                let rig = try await first.rig([first.listener(to: sinks.downstreams())])
                let listener = try second.listener(to: sinks.downstreams())
                do throws(PlaneError) {
                    try await Rig(second.makePlane()).apply([listener])
                    Issue.record("two daemons on one interface")
                } catch {
                    #expect(error.reason.contains("another udp-fanout serves it"), "\(error)")
                }
                await rig.stop()
            }
        }

        @Test("listeners of all modes on one interface get their own datagrams")
        func sideBySide() async throws {
            let (lab, pins) = (try VethLab(), try BPFFileSystem())
            try await lab.balancer.run {
                let stage = try lab.stage()
                let sinks = try stage.sinks(3)
                let ours = try stage.listener("x", to: [sinks[0]].downstreams())
                var theirs = try stage.listener("t", to: [sinks[1]].downstreams())
                theirs.mode = .tcEBPF
                var sockets = try stage.listener("u", to: [sinks[2]].downstreams())
                (sockets.mode, sockets.interface) = (.userspace, nil)
                sockets.preserveSource = false
                let planes: [(any DataPlane, Listener)] = [
                    (AFXDPPlane(logger: .silent), ours),
                    (TCPlane(logger: .silent, root: pins.path), theirs),
                    (UserspacePlane(logger: .silent), sockets),
                ]
                var rigs: [Rig] = []
                for (plane, listener) in planes {
                    let rig = Rig(plane)
                    try await rig.apply([listener])
                    rigs.append(rig)
                }
                for (number, (_, listener)) in planes.enumerated() {
                    let traffic = try stage.traffic(to: listener)
                    for _ in 0..<100 { traffic.send([UInt8(number)]) }
                    try await rigs[number].settled(listener.name, at: 100)
                    try await eventually("its receiver has them") { sinks[number].count == 100 }
                }
                for rig in rigs { await rig.stop() }
            }
        }
    }
}
