// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet
import KernelForwarding
import Testing

extension NetlinkTests {
    @Suite("on neighbours")
    struct NeighbourTests {
        /// A neighbour as `ip -j neigh` prints it.
        private struct Line: Decodable {
            let dst: String
            let lladdr: String?
            let state: [String]
        }

        @Test("lists the neighbours of an interface as ip does, and no other interface's")
        func compared() async throws {
            let commands =
                Wire.addressed + [
                    "link add left type veth peer name right", "link set left up",
                    "neigh add 10.9.9.9 lladdr 02:00:00:00:00:09 dev left",
                    "neigh add 10.0.0.5 lladdr 02:00:00:00:00:05 dev near nud permanent",
                    "neigh add 10.0.0.6 lladdr 02:00:00:00:00:06 dev near nud stale",
                    "neigh add 10.0.0.7 dev near nud failed",
                    "neigh add 10.0.0.8 lladdr 02:00:00:00:00:08 dev near nud noarp",
                    "neigh add proxy 10.0.0.100 dev near",
                    "-6 neigh add fd00::5 lladdr 02:00:00:00:06:05 dev near nud permanent",
                    "-6 neigh add fd00::6 lladdr 02:00:00:00:06:06 dev near nud reachable",
                ]
            try await Wire.run(commands) { _ in
                var netlink = try Netlink()
                let near = try #require(try netlink.link(named: "near")).index
                let neighbours = try netlink.neighbours(on: near)
                let lines = try await ip(Line.self, "neigh show dev near nud all")
                // The kernel adds and removes multicast entries at any time.
                let found = neighbours.filter { !$0.address.isMulticastOrBroadcast }
                #expect(
                    Set(found.map { "\($0.address) \($0.mac?.description ?? "-") \($0.state)" })
                        == Set(
                            lines.filter { IPAddress($0.dst)?.isMulticastOrBroadcast == false }.map
                            {
                                "\($0.dst) \($0.lladdr ?? "-") \($0.state[0].lowercased())"
                                    .replacing("noarp", with: "noARP")
                            }))
                #expect(found.count == 6)
                #expect(neighbours.allSatisfy { $0.interface == near })
                #expect(
                    Set(found.filter { !$0.isResolved }.map(\.address)) == [IPAddress("10.0.0.7")!])
                #expect(try netlink.neighbours(on: 4711) == [])
            }
        }

        @Test("finds one neighbour, or returns nil")
        func one() async throws {
            let commands =
                Wire.addressed + [
                    "neigh add 10.0.0.5 lladdr 02:00:00:00:00:05 dev near nud permanent",
                    "-6 neigh add fd00::5 lladdr 02:00:00:00:06:05 dev near nud permanent",
                ]
            try await Wire.run(commands) { _ in
                var netlink = try Netlink()
                let near = try #require(try netlink.link(named: "near")).index
                for (text, mac) in [
                    ("10.0.0.5", "02:00:00:00:00:05"), ("fd00::5", "02:00:00:00:06:05"),
                ] {
                    let found = try netlink.neighbour(of: host(text), on: near)
                    #expect(found?.address == IPAddress(text))
                    #expect(found?.mac?.description == mac)
                    #expect(found?.state == .permanent)
                    #expect(found?.interface == near)
                }
                for text in ["10.0.0.6", "fd00::6"] {
                    #expect(try netlink.neighbour(of: host(text), on: near) == nil)
                }
            }
        }

        @Test("passes on the kernel's message about a wrong request")
        func kernelsWords() async throws {
            try await Wire.run { _ in
                var netlink = try Netlink()
                let error = refusal {
                    _ = try netlink.neighbour(of: host("10.0.0.5"), on: 4711)
                }
                #expect(error?.errno == ENODEV)
                #expect(error?.detail?.lowercased().contains("ifindex") == true, "\(error as Any)")
                #expect(error?.description.contains(error?.detail ?? "?") == true)
            }
        }

        @Test("reports a silent host as failed, and a live one as reachable")
        func resolution() async throws {
            let far = ["addr add 10.0.0.2/24 dev far", "link set far up"]
            try await Wire.run(Wire.addressed, far: far) { _ in
                // One probe, and a tenth of a second for the reply.
                try Namespace.set("ipv4/neigh/near/mcast_solicit", to: "1")
                try Namespace.set("ipv4/neigh/near/retrans_time_ms", to: "100")
                var netlink = try Netlink()
                let near = try #require(try netlink.link(named: "near")).index
                let absent = try host("10.0.0.99")
                let there = try host("10.0.0.2")
                let socket = try Socket(family: AF_INET, type: Int32(SOCK_DGRAM.rawValue))
                func ask(_ address: IPAddress) throws {
                    try socket.connect(to: Endpoint(address, port: 9))
                    _ = send(socket.descriptor, "x", 1, 0)
                }
                try ask(absent)
                try await eventually("the absent one fails") {
                    try netlink.neighbour(of: absent, on: near)?.state == .failed
                }
                try await eventually("the other is reachable") {
                    // Just after a link came up the kernel may still drop packets.
                    try ask(there)
                    return try netlink.neighbour(of: there, on: near)?.state == .reachable
                }
                #expect(try netlink.neighbour(of: absent, on: near)?.mac == nil)
                #expect(try netlink.neighbour(of: there, on: near)?.isResolved == true)
            }
        }
    }
}
