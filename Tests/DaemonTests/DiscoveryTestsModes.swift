// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet
import Testing
import Tiers

/// One daemon, one service, a listener of each mode, in a network of veths.
@Suite(
    "Discovery in all modes", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct DiscoveryTestsModes {
    private static let port: UInt16 = 9000
    private static let modes = ["userspace", "tc_ebpf", "af_xdp", "xdp_nat"]

    /// An interface has one XDP program, so `af_xdp` needs an interface of its own. `xdp_nat` and `tc_ebpf` share
    /// one: what `xdp_nat` does not translate goes on to `tc_ebpf`.
    private static func subnet(_ mode: String) -> Int { mode == "af_xdp" ? 100 : 0 }

    private static func target(_ mode: String) -> Endpoint {
        let port = UInt16(5514 + modes.firstIndex(of: mode)!)
        return Endpoint(VethLab.v4(subnet(mode), 1), port: port)
    }

    private static let config =
        "listeners:\n"
        + modes.map { mode in
            let interface = subnet(mode) == 0 ? "lb0" : "lb1"
            return """
                  - name: \(mode)
                    bind: "\(target(mode))"
                    mode: \(mode)
                    \(mode == "userspace" ? "" : "interface: \(interface)")
                    kubernetes: {service: s, port: \(mode == "tc_ebpf" ? "\(port)" : "data")}

                """
        }.joined() + "settings: {workers: 1, recv_buf_size: 8388608}\n"

    /// A service whose pods are the lab's receivers.
    private struct Scene {
        let lab: VethLab
        let cluster: FakeCluster
        let daemon: DaemonUnderTest
        let loads: [Load]

        /// Makes these receivers ready and those leaving, and waits until both modes have applied it.
        func scale(
            to ready: [Int], leaving: [Int] = [], after trouble: () async throws -> Void = {}
        )
            async throws
        {
            let before = DiscoveryTestsModes.modes.map {
                daemon.times("\($0) k8s membership updated")
            }
            func address(_ index: Int) -> String { "\(VethLab.v4(index + 1, 2))" }
            try cluster.put(
                Slice(
                    "s-1",
                    ready.map { .init(address($0), pod: "pod-\($0)") }
                        + leaving.map { .leaving(address($0), pod: "pod-\($0)") },
                    ports: [.init(Int(DiscoveryTestsModes.port), name: "data")]))
            try await trouble()
            for (mode, count) in zip(DiscoveryTestsModes.modes, before) {
                try await daemon.logs("\(mode) k8s membership updated", times: count + 1)
            }
            try await pass()
        }

        func pass() async throws { for load in loads { try await load.pass(500) } }
    }

    private func scene(
        _ lab: VethLab, _ body: (Scene, [Sink]) async throws -> Void
    ) async throws {
        let cluster = try FakeCluster(try Identity(), address: "\(VethLab.v4(0, 1))")
        let folder = try ScratchFolder()
        let path = try folder.write(try cluster.kubeconfig(), to: "kubeconfig")
        let sinks = try lab.receivers.enumerated().map { index, receiver in
            try receiver.enter {
                try Sink(on: VethLab.v4(index + 1, 2), port: Self.port, keepsPayloads: false)
            }
        }
        try VethLab.connect(
            lab.balancer, "lb1", lab.client, "c1", subnet: Self.subnet("af_xdp"), isRouted: false)
        try await DaemonUnderTest.running(
            Self.config, environment: ["KUBECONFIG": path], folder: folder
        ) { daemon in
            try await daemon.logs("k8s discovery: 0 ready endpoints", times: Self.modes.count)
            #expect(cluster.watchRequests.count <= 1, "the listeners share a watch")
            let loads = try Self.modes.map { mode in
                let source =
                    Self.subnet(mode) == 0 ? VethLab.v4(9, 1) : VethLab.v4(Self.subnet(mode), 2)
                let traffic = try lab.client.enter {
                    try Traffic(to: Self.target(mode), from: source)
                }
                return try Load([traffic], rate: 2500)
            }
            try await body(Scene(lab: lab, cluster: cluster, daemon: daemon, loads: loads), sinks)
        }
    }

    @Test(
        "scale to zero and back, a rolling replacement, an API outage: the accounting is exact")
    func life() async throws {
        let lab = try VethLab(receivers: 4)
        try await lab.balancer.run(ownMounts: true) {
            try await scene(lab) { scene, sinks in
                try await scene.pass()
                try await scene.scale(to: [0, 1, 2])
                try await scene.scale(to: [])
                try await scene.scale(to: [0, 1, 2])
                try await replace(scene)
                try await outage(scene)
                try await settle(scene, sinks)
            }
        }
    }

    /// Replaces one receiver after another; one that leaves gets nothing more.
    private func replace(_ scene: Scene) async throws {
        try await scene.scale(to: [1, 2, 3], leaving: [0])
        try await scene.scale(to: [1, 2, 3])
        try await scene.scale(to: [0, 2, 3], leaving: [1])
        try await scene.scale(to: [0, 2, 3])
        // All of them leave: while there is no other receiver, they receive.
        try await scene.scale(to: [], leaving: [0, 2])
        try await scene.scale(to: [0, 1])
    }

    /// The server stops twice. It comes back first with a lower version, then with one so high that the watch
    /// cannot resume.
    private func outage(_ scene: Scene) async throws {
        let cluster = scene.cluster
        await cluster.stop()
        try await scene.daemon.logs("k8s discovery: the API server does not answer")
        try await scene.pass()
        cluster.jump(to: 7)
        try await scene.scale(to: [1, 2]) { try cluster.start() }
        await cluster.stop()
        try await scene.pass()
        try await scene.scale(to: [2, 3]) {
            cluster.compact()
            try cluster.start()
        }
    }

    private func settle(_ scene: Scene, _ sinks: [Sink]) async throws {
        var sent: [String: Int] = [:]
        for (mode, load) in zip(Self.modes, scene.loads) {
            sent[mode] = Int(await load.stop().datagrams)
        }
        try await scene.daemon.stop()
        var forwarded = 0
        for mode in Self.modes {
            let line = scene.daemon.log.last {
                $0.message == "listener totals" && $0.fields["listener"] == mode
            }
            let totals = (line?.fields ?? [:]).compactMapValues { Int($0) }
            let dropped = totals["dropped_no_healthy"] ?? 0
            #expect(dropped > 0 && totals["dropped"] == dropped, "\(mode): \(totals)")
            #expect(totals["received"] == totals["forwarded"]! + dropped, "\(mode): \(totals)")
            #expect(totals["received"]! + totals["kernel_drops"]! == sent[mode], "\(mode)")
            forwarded += totals["forwarded"]!
        }
        try await eventually("what was forwarded arrives") { Int(sinks.arrivals) == forwarded }
        #expect(sinks.map(\.arrivals).allSatisfy { $0 > 0 })
    }
}
