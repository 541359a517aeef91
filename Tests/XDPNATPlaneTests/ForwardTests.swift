// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import Testing
import Tiers

/// All suites of this module: one test at a time, since some of them load both CPUs.
@Suite(
    "The xdp_nat plane", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct XDPNATPlaneTests {}

extension XDPNATPlaneTests {
    @Suite("In both directions")
    struct ForwardTests {
        @Test(
            "a client has one server, and the replies come from the virtual address",
            arguments: NATNet.Way.allCases, [IPAddress.Family.v4, .v6])
        func both(way: NATNet.Way, family: IPAddress.Family) async throws {
            let net = try NATNet(way)
            let servers = try (0..<3).map { try net.server($0, family) }
            try await net.balancer.run {
                let rig = try await net.rig([net.listener(servers, family)])
                let service = net.service(family)
                for number in 0..<3 {
                    let client = try net.talker(family)
                    let name = try await client.ask("first", service).text.prefix(1)
                    for turn in 1..<5 {
                        let answer = try await client.ask("\(turn)", service)
                        #expect(answer.text == "\(name) \(turn)")
                        #expect(answer.from == service)
                    }
                    let server = try #require(servers.first { $0.name == name })
                    #expect(
                        server.questions.suffix(5).map(\.from)
                            == Array(repeating: client.endpoint, count: 5))
                    let counters = try await rig.counters()
                    #expect(counters.packetsForwarded == UInt64(5 * number + 5))
                    #expect(counters.isBalanced && counters.replies?.isBalanced == true)
                    #expect(counters.replies?.packetsForwarded == UInt64(5 * number + 5))
                    #expect(
                        counters.downstreams.map(\.packetsForwarded).reduce(0, +)
                            == counters.packetsForwarded)
                }
                await rig.stop()
                #expect(net.pins.isEmpty)
            }
        }
    }
}
