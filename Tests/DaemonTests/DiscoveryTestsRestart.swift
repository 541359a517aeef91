// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet
import Testing
import Tiers

/// A daemon whose source of receivers is unavailable while it is killed and started again.
@Suite(
    "Discovery over a restart", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct DiscoveryTestsRestart {
    private static let modes = ["tc_ebpf", "xdp_nat"]

    private static func target(_ mode: String) -> Endpoint {
        Endpoint(VethLab.v4(0, 1), port: mode == "tc_ebpf" ? 5515 : 5517)
    }

    private static let config =
        "listeners:\n"
        + modes.map { mode in
            """
              - name: \(mode)
                bind: "\(target(mode))"
                mode: \(mode)
                interface: lb0
                kubernetes: {service: s, port: data}

            """
        }.joined()

    @Test("kill -9 and a restart during an API outage lose no datagram in the kernel modes")
    func outage() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let cluster = try FakeCluster(try Identity(), address: "\(VethLab.v4(0, 1))")
            let folder = try ScratchFolder()
            let path = try folder.write(try cluster.kubeconfig(), to: "kubeconfig")
            let sinks = try lab.receivers.enumerated().map { index, receiver in
                try receiver.enter {
                    try Sink(on: VethLab.v4(index + 1, 2), port: 9000, keepsPayloads: false)
                }
            }
            let pods = sinks.indices.map { index in
                Slice.Endpoint("\(VethLab.v4(index + 1, 2))", pod: "pod-\(index)")
            }
            try cluster.put(Slice("s-1", pods, ports: [.init(9000, name: "data")]))
            func start() async throws -> DaemonUnderTest {
                let daemon = try DaemonUnderTest(
                    Self.config, environment: ["KUBECONFIG": path], folder: folder)
                try await daemon.isRunning()
                return daemon
            }
            var daemon = try await start()
            let traffic = try Self.modes.map { mode in
                try lab.client.enter { try Traffic(to: Self.target(mode), from: VethLab.v4(9, 1)) }
            }
            let load = try Load(traffic, rate: 5000)
            try await load.pass(1000)
            try await daemon.remembersReceivers()
            await cluster.stop()
            for _ in 0..<2 {
                await daemon.process.end()
                try await load.pass(1000)
                daemon = try await start()
                try await daemon.logs(
                    "k8s discovery: no answer yet, the last-known receivers stay active")
                try await load.pass(1000)
            }
            try cluster.start()
            try cluster.put(Slice("s-1", [pods[0]], ports: [.init(9000, name: "data")]))
            try await daemon.logs("tc_ebpf k8s membership updated")
            try await daemon.logs("xdp_nat k8s membership updated")
            try await load.pass(1000)
            let report = await load.stop()
            try await eventually("all arrive") { sinks.arrivals == report.datagrams }
            #expect(sinks.allSatisfy { $0.arrivals > 0 })
            try await daemon.stop()
        }
    }
}
