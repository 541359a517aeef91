// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import PlaneContract
import Testing

extension XDPNATPlaneTests {
    /// A real protocol: DNS servers of the distribution, and a load generator.
    @Suite(
        "DNS over it",
        .enabled(
            if: ["/usr/bin/dnsperf", "/usr/sbin/dnsmasq"].allSatisfy(
                FileManager.default.isExecutableFile),
            "NOT TESTED: needs the packages dnsperf and dnsmasq-base"))
    struct DNSTests {
        @Test("three servers answer every query of dnsperf", arguments: NATNet.Way.allCases)
        func everyQuery(way: NATNet.Way) async throws {
            let net = try NATNet(way)
            let folder = try ScratchFolder()
            let servers = try (0..<3).map { index in
                try net.servers[index].enter {
                    try ChildProcess(
                        "/usr/sbin/dnsmasq",
                        [
                            "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv",
                            "--no-hosts", "--port=5353", "--user=root", "--pid-file",
                            "--listen-address=\(VethLab.v4(index + 1, 2))", "--bind-interfaces",
                            "--address=/example.net/192.0.2.\(index + 1)",
                        ], folder: folder)
                }
            }
            var queries = ""
            for number in 0..<1000 { queries += "host\(number).example.net A\n" }
            let file = try folder.write(queries, to: "queries")
            var listener = net.listener([], port: 53)
            listener.downstreams = (0..<3).map {
                Downstream(
                    name: "dns\($0)", endpoint: Endpoint(VethLab.v4($0 + 1, 2), port: 5353))
            }
            try await net.balancer.run { [listener] in
                let rig = try await net.rig([listener])
                try await eventually("each server answers") {
                    servers.allSatisfy { $0.record.state.ending == nil }
                }
                let perf = try net.client.enter {
                    try ChildProcess(
                        "/usr/bin/dnsperf",
                        [
                            "-s", "\(net.service().address)", "-d", file, "-c", "30", "-n", "20",
                            "-Q", "5000",
                        ], folder: folder)
                }
                #expect(try await perf.exit(within: .seconds(60)) == .exited(0))
                let words = perf.record.state.output.flatMap { $0.split(separator: " ") }
                let said = words.joined(separator: " ")
                #expect(said.contains("Queries completed: 20000 (100.00%)"), "\(said)")
                #expect(said.contains("Queries lost: 0 (0.00%)"), "\(said)")
                let counters = try await rig.counters()
                #expect(counters.downstreams.allSatisfy { $0.packetsForwarded > 5000 })
                #expect(counters.replies?.packetsForwarded == counters.packetsForwarded)
                await rig.stop()
            }
            for server in servers { await server.end() }
        }
    }
}
