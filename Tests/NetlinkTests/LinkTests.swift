// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CLibBPF
import KernelPrograms
import LabNet
import KernelForwarding
import Synchronization
import Testing

extension NetlinkTests {
    @Suite("on links")
    struct LinkTests {
        /// Made on one thread, used on another.
        private final class Held: Sendable {
            let netlink: Mutex<Netlink>
            init() throws { netlink = try Mutex(Netlink()) }
        }

        /// A link as `ip -j -d link` prints it.
        private struct Line: Decodable {
            struct Info: Decodable { let info_kind: String? }
            struct Program: Decodable {
                struct Identity: Decodable { let id: UInt32 }
                let prog: Identity
            }
            let ifindex: UInt32
            let ifname: String
            let flags: [String]
            let mtu: UInt32
            let address: String
            let linkinfo: Info?
            let link_index: UInt32?
            let link: String?
            let link_netnsid: Int32?
            let num_rx_queues: UInt32
            let num_tx_queues: UInt32
            let xdp: Program?
        }

        @Test("describes every link as ip does")
        func everyLink() async throws {
            try await Wire.run([
                "link add left numrxqueues 3 numtxqueues 2 type veth peer name right",
                "link set left mtu 1400 up", "link set right address 02:00:00:00:0a:0b",
                "link add bridge type bridge", "link set left master bridge", "link set near up",
            ]) { _ in
                var netlink = try Netlink()
                let links = try netlink.links()
                let lines = try await ip(Line.self, "link show").sorted { $0.ifindex < $1.ifindex }
                #expect(links.map(\.index) == lines.map(\.ifindex))
                #expect(Set(links.map(\.name)) == ["lo", "near", "left", "right", "bridge"])
                for (link, line) in zip(links, lines) {
                    #expect(link.name == line.ifname)
                    #expect(link.kind == line.linkinfo?.info_kind, "\(link.name)")
                    #expect(link.mac?.description == line.address, "\(link.name)")
                    #expect(link.mtu == line.mtu, "\(link.name)")
                    #expect(link.isUp == line.flags.contains("UP"), "\(link.name)")
                    #expect(link.receiveQueues == line.num_rx_queues, "\(link.name)")
                    #expect(link.transmitQueues == line.num_tx_queues, "\(link.name)")
                    #expect(link.peerNamespace == line.link_netnsid, "\(link.name)")
                    let peer = line.link_index ?? lines.first { $0.ifname == line.link }?.ifindex
                    #expect(link.peerIndex == peer, "\(link.name)")
                    #expect(link.xdpPrograms == [])
                }
                #expect(links.first { $0.name == "left" }?.receiveQueues == 3)
            }
        }

        @Test("finds a veth's peer, here or in another namespace")
        func peers() async throws {
            try await Wire.run(["link add left type veth peer name right"]) { far in
                var netlink = try Netlink()
                let near = try #require(try netlink.link(named: "near"))
                let left = try #require(try netlink.link(named: "left"))
                let right = try #require(try netlink.link(named: "right"))
                let there: NetworkLink? = try await far.run {
                    var netlink = try Netlink()
                    return try netlink.link(named: "far")
                }
                #expect(near.peerIndex == there?.index)
                #expect(near.isPeerElsewhere)
                #expect(there?.peerIndex == near.index)
                #expect(left.peerIndex == right.index && right.peerIndex == left.index)
                #expect(!left.isPeerElsewhere && !right.isPeerElsewhere)
                let loopback = try #require(try netlink.link(named: "lo"))
                #expect(loopback.peerIndex == nil && loopback.kind == nil)
            }
        }

        @Test("reads the namespace in which it was made, from any thread")
        func namespace() async throws {
            try await Wire.run { far in
                let made = try await far.run { try Held() }
                let names = try made.netlink.withLock { try $0.links().map(\.name) }
                #expect(Set(names) == ["lo", "far"])
            }
        }

        @Test("finds a link by name, by its long name and by index, or returns nil")
        func lookUp() async throws {
            let long = "a-name-of-more-than-fifteen-bytes"
            try await Wire.run(["link property add dev near altname \(long)"]) { _ in
                var netlink = try Netlink()
                let near = try #require(try netlink.link(named: "near"))
                #expect(try netlink.link(named: long) == near)
                #expect(try netlink.link(index: near.index) == near)
                #expect(try netlink.links().contains(near))
                for name in ["", "far", "nea", "near ", String(repeating: "n", count: 500)] {
                    #expect(try netlink.link(named: name) == nil, "\(name)")
                }
                for index in [0, near.index + 1000, UInt32.max] {
                    #expect(try netlink.link(index: index) == nil)
                }
            }
        }

        @Test("distinguishes a link that is up from one with a carrier")
        func carrier() async throws {
            try await Wire.run(far: []) { far in
                var netlink = try Netlink()
                func state() throws -> [Bool] {
                    let link = try #require(try netlink.link(named: "near"))
                    return [link.isUp, link.hasCarrier]
                }
                #expect(try state() == [false, false])
                try Namespace.ip("link set near up")
                #expect(try state() == [true, false])
                try await far.run { try Namespace.ip("link set far up") }
                #expect(try state() == [true, true])
                try Namespace.ip("link set near down")
                #expect(try state()[0] == false)
            }
        }

        @Test(
            "finds the XDP program on a link",
            arguments: [NetworkLink.XDPProgram.Mode.native, .generic])
        func program(mode: NetworkLink.XDPProgram.Mode) async throws {
            try await Wire.run { _ in
                var object = try BPFObject(opening: .flowKey)
                try object.load()
                let program = try object.program(named: "lb_flow_key")
                var netlink = try Netlink()
                let index = try #require(try netlink.link(named: "near")).index
                let flags: UInt32 = mode == .native ? 1 << 2 : 1 << 1  // XDP_FLAGS_*_MODE
                #expect(bpf_xdp_attach(Int32(index), program.descriptor, flags, nil) == 0)

                let line = try #require(try await ip(Line.self, "link show near").first)
                let number = try #require(line.xdp?.prog.id)
                let programs = try #require(try netlink.link(named: "near")).xdpPrograms
                #expect(programs.map(\.identifier) == [number])
                #expect(programs.map(\.mode) == [mode])
                #expect(bpf_xdp_detach(Int32(index), flags, nil) == 0)
                #expect(try netlink.link(named: "near")?.xdpPrograms == [])
            }
        }

        @Test("lists more links than fit into one reply")
        func many() async throws {
            try await Wire.run((0..<60).map { "link add l\($0) type veth peer name r\($0)" }) { _ in
                var netlink = try Netlink()
                let links = try netlink.links()
                #expect(links.count == 122)
                #expect(Set(links.map(\.name)).count == 122)
            }
        }
    }
}
