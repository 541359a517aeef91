// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import PlaneContract
import Testing
import Tiers

extension UserspacePlaneTests {
    /// Four workers, 64 sources that each count up one sequence, one receiver.
    @Suite(
        "keeping the order of a source at 50 000 datagrams a second", .tags(.load),
        .timeLimit(.minutes(1)))
    struct SourceOrderTests {
        /// The result of the load, and the listener's last counters.
        private static func outcome(
            _ steer: Steer, clients: [IPAddress], ports: Int, segments: Int = 1, at bind: IPAddress,
            destination: IPAddress
        ) async throws -> (delivery: Delivery, counters: ListenerCounters) {
            let stage = Stage.userspace
            let sink = try Sink(keepsPayloads: false)
            let listener = try stage.steered(steer, workers: 4, at: bind, to: sink)
            let rig = try await stage.rig([listener])
            let target = Endpoint(destination, port: listener.bind.port)
            let sources = try clients.flatMap { client in
                try (0..<ports).map { _ in try Traffic(to: target, from: client) }
            }
            let report = try await Load(
                sources, sharing: ports, rate: 50_000, total: 50_000, sizes: [64, 64, 300],
                segments: segments
            ).finish()
            #expect(report.errors == [:])
            let counters = try await rig.settled(at: report.datagrams)
            try await eventually("all arrive") { sink.arrivals >= counters.packetsForwarded }
            let delivery = Delivery(of: report, at: [sink])
            print(
                "steer \(steer.rawValue), \(ports) ports a source, segments \(segments): "
                    + "\(Int(report.rate)) a second, \(delivery.disorders) out of order")
            await rig.stop()
            return (delivery, counters)
        }

        @Test("each source's datagrams arrive once and in order, though they come from 4 ports")
        func ordered() async throws {
            for segments in [1, 16] {
                let (delivery, counters) = try await Self.outcome(
                    .sourceIP, clients: manyClients, ports: 4, segments: segments, at: .loopback,
                    destination: .loopback)
                #expect(delivery.isExact(), "\(delivery)")
                #expect(delivery.arrived == delivery.sent && counters.kernelDrops == 0)
            }
        }

        @Test("also those of IPv4 clients of [::]")
        func orderedDual() async throws {
            let (delivery, _) = try await Self.outcome(
                .sourceIP, clients: manyClients, ports: 4, at: .any6, destination: .loopback)
            #expect(delivery.isExact() && delivery.lost == 0, "\(delivery)")
        }

        @Test("also those of IPv6 sources", .enabled(if: Privilege.isRoot, "needs root"))
        func ordered6() async throws {
            try await Namespace.run(wholePrefix) {
                try Namespace.set("ipv6/ip_nonlocal_bind", to: "1")
                let (delivery, _) = try await Self.outcome(
                    .sourceIP, clients: manyClients6, ports: 4, at: .loopback6,
                    destination: .loopback6)
                #expect(delivery.isExact() && delivery.lost == 0, "\(delivery)")
            }
        }

        @Test("when the kernel chooses, one port's datagrams stay in order and a source's do not")
        func kernelKeepsFlowsOnly() async throws {
            let flows = try await Self.outcome(
                .kernel, clients: manyClients, ports: 1, at: .loopback, destination: .loopback)
            #expect(flows.delivery.isExact(), "\(flows.delivery)")
            let sources = try await Self.outcome(
                .kernel, clients: manyClients, ports: 4, at: .loopback, destination: .loopback)
            #expect(sources.delivery.disorders > 0, "the test would not notice disorder")
            #expect(sources.delivery.lost == 0, "\(sources.delivery)")
        }
    }
}
