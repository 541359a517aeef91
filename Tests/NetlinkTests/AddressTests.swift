// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import KernelForwarding
import Testing

extension NetlinkTests {
    @Suite("on addresses")
    struct AddressTests {
        /// An address as `ip -j addr` prints it.
        private struct Line: Decodable {
            struct Address: Decodable {
                let local: String
                let prefixlen: UInt8
                let scope: String
            }
            let addr_info: [Address]
        }

        @Test("lists the addresses of an interface as ip does, and no other interface's")
        func compared() async throws {
            let commands =
                Wire.addressed + [
                    "addr add 10.0.0.2/24 dev near",
                    "addr add 192.0.2.1 peer 192.0.2.2/31 dev near",
                    "addr add 169.254.1.1/16 dev near scope link",
                    "addr add 10.9.0.1/32 dev near scope 77",
                    "addr add fd00::1:2/128 dev near nodad", "addr add 127.0.0.9/8 dev lo",
                ]
            try await Wire.run(commands) { _ in
                var netlink = try Netlink()
                for name in ["near", "lo"] {
                    let index = try #require(try netlink.link(named: name)).index
                    let addresses = try netlink.addresses(of: index)
                    let lines = try await ip(Line.self, "addr show dev \(name)").flatMap(
                        \.addr_info)
                    #expect(addresses.map(\.address.description) == lines.map(\.local))
                    // For a point-to-point address ip prints the peer's prefix.
                    #expect(addresses.map(\.prefixLength) == lines.map(\.prefixlen))
                    #expect(addresses.map(\.scope) == lines.map { Self.scope($0.scope) })
                    #expect(addresses.allSatisfy { $0.interface == index })
                }
            }
        }

        private static func scope(_ name: String) -> InterfaceAddress.Scope? {
            switch name {
            case "global": .global
            case "site": .site
            case "link": .link
            case "host": .host
            default: UInt8(name).map { .other($0) }
            }
        }

        @Test("gives this host's end of a point-to-point address")
        func peer() async throws {
            try await Wire.run(["addr add 192.0.2.1 peer 192.0.2.2/31 dev near"]) { _ in
                var netlink = try Netlink()
                let index = try #require(try netlink.link(named: "near")).index
                let address = try #require(try netlink.addresses(of: index).first)
                #expect(address.address == IPAddress("192.0.2.1"))
                #expect(address.prefixLength == 31)
            }
        }

        @Test("marks an IPv6 address that is not yet known to be unique")
        func tentative() async throws {
            // Without a carrier, duplicate address detection cannot start.
            try await Wire.run(["link set near up", "addr add fd00::1/64 dev near"], far: []) {
                far in
                var netlink = try Netlink()
                let index = try #require(try netlink.link(named: "near")).index
                let address = try #require(try netlink.addresses(of: index).first)
                #expect(address.isTentative)
                try await far.run { try Namespace.ip("link set far up") }
                try await eventually("it is found to be unique") {
                    try netlink.addresses(of: index).contains {
                        $0.address == address.address && !$0.isTentative
                    }
                }
            }
        }

        @Test("lists a long, changing table completely, or throws")
        func churn() async throws {
            try await Wire.run { _ in
                let folder = try ScratchFolder()
                // The kernel resumes a dump by count, so a removed address at the front, where those of
                // the narrowest scope are, hides a later one.
                let staying = (0..<600).map {
                    "addr add 10.1.\($0 / 200).\($0 % 200)/32 dev near\n"
                }
                let filling = try ChildProcess(
                    "ip", ["-batch", folder.write(staying.joined(), to: "staying")])
                #expect(try await filling.exit() == .exited(0))
                let change =
                    "addr add 10.2.0.1/32 dev near scope link\naddr del 10.2.0.1/32 dev near\n"
                let changing = try ChildProcess(
                    "ip",
                    ["-batch", folder.write(String(repeating: change, count: 4000), to: "change")])

                var netlink = try Netlink()
                let near = try #require(try netlink.link(named: "near")).index
                var counts: Set<Int> = []
                while changing.record.state.ending == nil {
                    let error = refusal {
                        let addresses = try netlink.addresses(of: near)
                        counts.insert(addresses.count { $0.scope == .global })
                    }
                    #expect(error == nil || error?.errno == EINTR)
                }
                #expect(try await changing.exit() == .exited(0))
                #expect(counts == [600])
            }
        }

        @Test("an interface that does not exist has none")
        func noInterface() async throws {
            try await Wire.run(Wire.addressed) { _ in
                var netlink = try Netlink()
                #expect(try netlink.addresses(of: 4711) == [])
            }
        }
    }
}
