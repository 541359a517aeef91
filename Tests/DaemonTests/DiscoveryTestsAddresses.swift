// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet
import Testing
import Tiers

/// A Service's load-balancer addresses join those of a listener of a kernel mode.
@Suite(
    "Load-balancer addresses", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct DiscoveryTestsAddresses {
    private static let port: UInt16 = 5514
    private static let first = IPAddress(v4: 0xc000_020a)
    private static let second = IPAddress(v4: 0xc000_020b)

    @Test(
        "an address is served from when the service gets it until it loses it",
        arguments: ["tc_ebpf", "af_xdp"])
    func addresses(mode: String) async throws {
        let lab = try VethLab(receivers: 1)
        try await lab.balancer.run(ownMounts: true) {
            let cluster = try FakeCluster(try Identity(), address: "\(VethLab.v4(0, 1))")
            let folder = try ScratchFolder()
            let path = try folder.write(try cluster.kubeconfig(), to: "kubeconfig")
            let sink = try lab.receivers[0].enter { try Sink(on: VethLab.v4(1, 2), port: 9000) }
            try cluster.put(
                Slice(
                    "s-1", [.init("\(VethLab.v4(1, 2))", pod: "pod")],
                    ports: [.init(9000, name: "data")]))
            cluster.put(service: "s", ingress: ["\(Self.first)"])
            let config = """
                listeners:
                  - name: in
                    bind: "\(VethLab.v4(0, 1)):\(Self.port)"
                    mode: \(mode)
                    interface: lb0
                    kubernetes: {service: s, port: data, vip: true}

                """
            try await DaemonUnderTest.running(
                config, environment: ["KUBECONFIG": path], folder: folder
            ) { daemon in
                try await arrives(at: Self.first, sink, lab)
                cluster.put(service: "s", ingress: ["\(Self.second)"])
                try await arrives(at: Self.second, sink, lab)
                // For a moment both addresses are served. The datagram to the listener's own address, which is
                // always served, comes after the one to the old address: when it has arrived, the other one
                // has arrived or has been dropped.
                try await eventually("nothing arrives at the old address") {
                    let before = sink.arrivals
                    try traffic(to: Self.first, lab).send([1])
                    try await arrives(at: VethLab.v4(0, 1), sink, lab)
                    return !sink.datagrams.dropFirst(Int(before)).contains { $0.payload == [1] }
                }
                try await daemon.stop()
            }
        }
    }

    private func traffic(to address: IPAddress, _ lab: VethLab) throws -> Traffic {
        try lab.client.enter {
            try Traffic(to: Endpoint(address, port: Self.port), from: VethLab.v4(9, 1))
        }
    }

    /// Sends until something arrives.
    private func arrives(at address: IPAddress, _ sink: Sink, _ lab: VethLab) async throws {
        let (traffic, before) = (try traffic(to: address, lab), sink.arrivals)
        try await eventually("a datagram to \(address) arrives") {
            traffic.send([2])
            return sink.arrivals > before
        }
    }
}
