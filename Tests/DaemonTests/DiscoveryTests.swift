// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet
import Testing

extension DaemonTests {
    @Suite("Discovery")
    struct DiscoveryTests {}
}

extension DaemonTests.DiscoveryTests {
    private static let updated = "userspace k8s membership updated"
    private static let noneReady = "k8s discovery: 0 ready endpoints"

    /// Sinks at one port of 127.0.0.1, .2, …: the pods of a service.
    private func pods(_ count: Int) throws -> [Sink] {
        let port = try Ports.free()
        return try (1...count).map {
            try Sink(
                on: IPAddress(v4: 0x7f00_0000 + UInt32($0)), port: port, keepsPayloads: false)
        }
    }

    private func slice(_ pods: some Sequence<Sink>) -> Slice {
        let endpoints = pods.map { pod in
            Slice.Endpoint("\(pod.endpoint.address)", pod: "pod-\(pod.endpoint.address.v4 & 0xff)")
        }
        let port = pods.first { _ in true }?.endpoint.port ?? 1
        return Slice("s-1", endpoints, ports: [Slice.Port(Int(port), name: "data")])
    }

    private func config(_ port: UInt16, metrics: UInt16, _ receivers: String) -> String {
        """
        listeners:
          - name: in
            bind: "127.0.0.1:\(port)"
            \(receivers)
        settings: {workers: 1, recv_buf_size: 8388608}
        metrics: {enabled: true, bind: "127.0.0.1:\(metrics)"}

        """
    }

    private static let service = "kubernetes: {service: s, port: data}"

    /// A cluster, and a folder with the kubeconfig that leads to it.
    private func stage() throws -> (
        cluster: FakeCluster, folder: ScratchFolder, environment: [String: String]
    ) {
        let cluster = try FakeCluster(try Identity())
        let folder = try ScratchFolder()
        let path = try folder.write(try cluster.kubeconfig(), to: "kubeconfig")
        return (cluster, folder, ["KUBECONFIG": path])
    }

    @Test(
        "starts without a cluster, counts its drops, and follows the cluster once it answers")
    func late() async throws {
        let (cluster, folder, environment) = try stage()
        await cluster.stop()
        let pods = try pods(3)
        let (port, metrics) = (try Ports.free(), try Ports.free())
        let config = config(port, metrics: metrics, Self.service)
        try await DaemonUnderTest.running(config, environment: environment, folder: folder) {
            daemon in
            try await daemon.logs("k8s discovery: the API server does not answer")
            let target = Endpoint(.loopback, port: port)
            let load = try Load([Traffic(to: target)], rate: 5000)
            try await load.pass(1000)
            var page = try await MetricsPage.scrape(metrics)
            #expect(page.count("packets_no_healthy_total") >= 900)
            #expect(daemon.times(Self.noneReady) == 0, "it is not known yet")

            try cluster.put(slice(pods))
            try cluster.start()
            let line = try await daemon.logs(Self.updated)
            #expect(line.fields["listener"] == "in" && line.fields["added"] == "3")
            try await load.pass(1000)
            let report = await load.stop()
            page = try await MetricsPage.scrape(metrics)
            let source = ["source": "endpointslices:default/s"]
            func of(_ more: [String: String]) -> [String: String] { source.merging(more) { $1 } }
            #expect(page.count("discovery_endpoints", of(["state": "ready"])) == 3)
            #expect(page.count("discovery_endpoints", of(["state": "not_ready"])) == 0)
            #expect(page.count("discovery_relists_total", of(["reason": "start"])) >= 1)
            #expect(page.count("discovery_errors_total", of(["code": "connection"])) >= 1)
            let age = try #require(page.value("udp_fanout_discovery_sync_age_seconds", source))
            #expect(age >= 0 && age < 60)
            #expect(
                page.count("discovery_unused_receivers", ["listener": "in", "reason": "surplus"])
                    == 0)
            let names = page.samples.compactMap {
                $0.name == "udp_fanout_downstream_weight" ? $0.labels["downstream"] : nil
            }
            #expect(names.sorted() == ["pod-1", "pod-2", "pod-3"])
            try await daemon.stop()
            let totals = totals(daemon)
            #expect(totals["received"]! + totals["kernel_drops"]! == Int(report.datagrams))
            #expect(totals["received"] == totals["forwarded"]! + totals["dropped_no_healthy"]!)
            try await eventually("what was forwarded arrives") {
                Int(pods.arrivals) == totals["forwarded"]
            }
        }
    }

    private func totals(_ daemon: DaemonUnderTest) -> [String: Int] {
        let line = daemon.log.last { $0.message == "listener totals" }
        return (line?.fields ?? [:]).compactMapValues { Int($0) }
    }

    @Test("a reload from receivers of the file to a service and back loses nothing")
    func reload() async throws {
        let (cluster, folder, environment) = try stage()
        let pods = try pods(3)
        try cluster.put(slice(pods))
        let (port, metrics) = (try Ports.free(), try Ports.free())
        let fixed = config(
            port, metrics: metrics, "downstream: [{name: a, address: \"\(pods[0].endpoint)\"}]")
        let found = config(port, metrics: metrics, Self.service)
        try await DaemonUnderTest.running(fixed, environment: environment, folder: folder) {
            daemon in
            let load = try Load([Traffic(to: Endpoint(.loopback, port: port))], rate: 10_000)
            for _ in 1...2 {
                try await load.pass(1000)
                try await daemon.reload(found)
                try await eventually("all pods are active") {
                    try await MetricsPage.scrape(metrics).count("downstream_active") == 3
                }
                try await load.pass(1000)
                try await daemon.reload(fixed)
            }
            let report = await load.stop()
            try await eventually("the watch has ended") { cluster.openWatches == 0 }
            try await daemon.stop()
            let totals = totals(daemon)
            #expect(totals["dropped"] == 0)
            #expect(totals["received"]! + totals["kernel_drops"]! == Int(report.datagrams))
            try await eventually("what was forwarded arrives") {
                Int(pods.arrivals) == totals["forwarded"]
            }
            #expect(daemon.times("starting userspace forwarder") == 1)
        }
    }

    @Test("health checks apply to discovered receivers")
    func health() async throws {
        let (cluster, folder, environment) = try stage()
        let pods = try pods(3)
        let ports = try HealthPorts(pods)
        try cluster.put(slice(pods))
        let (port, metrics) = (try Ports.free(), try Ports.free())
        let health = "health: {enabled: true, protocol: tcp, interval_secs: 1, timeout_secs: 1}\n"
        let config = config(port, metrics: metrics, Self.service) + health
        try await DaemonUnderTest.running(config, environment: environment, folder: folder) {
            daemon in
            try await daemon.logs("downstream is healthy", times: 3)
            ports.close(1)
            let line = try await daemon.logs("downstream marked unhealthy, disabling")
            #expect(line.fields["downstream"] == "pod-2")
            try await eventually("two are active") {
                try await MetricsPage.scrape(metrics).count("downstream_active") == 2
            }
            try cluster.put(slice([pods[1], pods[2]]))
            try await eventually("one is left") {
                let page = try await MetricsPage.scrape(metrics)
                return page.count("downstream_active") == 1
                    && page.count("discovery_endpoints", ["state": "ready"]) == 2
            }
            try await daemon.stop()
        }
    }
}
