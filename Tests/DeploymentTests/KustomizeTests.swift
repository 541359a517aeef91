// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import SchemaCheck
import Testing
import Tiers

@testable import udp_fanout

@Suite("The manifests of packaging/kubernetes", .tags(.unit))
struct KustomizeTests {
    static let folder = "packaging/kubernetes"
    static let installations: [(String, ForwardingMode)] = [
        ("base", .userspace), ("overlays/tc", .tcEBPF), ("overlays/metallb", .afXDP),
    ]

    static func manifests(_ name: String) throws -> Manifests {
        Manifests(title: name, objects: try Kustomization(folder: "\(folder)/\(name)").objects)
    }

    @Test(
        "are valid, and grant exactly what the mode and the configuration need",
        arguments: installations)
    func sound(name: String, mode: ForwardingMode) throws {
        let manifests = try Self.manifests(name)
        try manifests.expectSound(mode)
        #expect(manifests.container?["image"] == .text("udp-fanout:\(Version.number)"))
        // Discovery's namespace exists before; the daemon's own is made.
        #expect(manifests.first("Namespace")?["metadata"]?["name"] == .text("udp-fanout"))
        #expect(manifests.first("DaemonSet")?["metadata"]?["namespace"] == .text("udp-fanout"))
    }

    @Test("an address that MetalLB gives belongs to the service whose endpoints receive")
    func metallb() throws {
        let manifests = try Self.manifests("overlays/metallb")
        let listener = try #require(try manifests.configuration.listeners.first)
        let kubernetes = try #require(listener.kubernetes)
        let service = try #require(manifests.first("Service"))
        #expect(kubernetes.vip)
        #expect(service["metadata"]?["name"]?.text == kubernetes.service)
        #expect(service["metadata"]?["namespace"]?.text == kubernetes.namespace)
        #expect(service["spec"]?["type"] == .text("LoadBalancer"))
        #expect(service["spec"]?["ports"]?[0]?["port"] == .integer(Int(listener.bind.port)))
        #expect(service["spec"]?["ports"]?[0]?["protocol"] == .text("UDP"))
        let pool = try #require(manifests.first("IPAddressPool"))
        #expect(
            service["metadata"]?["annotations"]?["metallb.io/address-pool"]
                == pool["metadata"]?["name"])
        let announcement = try #require(manifests.first("L2Advertisement"))
        #expect(announcement["spec"]?["interfaces"]?[0]?.text == listener.interface)
    }

    @Test("the PodMonitor finds the pods and the port")
    func monitor() throws {
        let manifests = try Self.manifests("monitoring")
        let monitor = try #require(manifests.first("PodMonitor"))
        #expect(try KubernetesAPI().problems(of: monitor) == [])
        let base = try Self.manifests("base")
        #expect(monitor["spec"]?["selector"] == base.first("DaemonSet")?["spec"]?["selector"])
        #expect(
            monitor["spec"]?["podMetricsEndpoints"]?[0]?["port"]
                == base.container?["ports"]?[0]?["name"])
    }

    @Test(
        "a mistake in a manifest would be found",
        arguments: [
            ("hostNetwork: true", "hostNetworks: true"),
            ("periodSeconds: 1\n", "periodSeconds: 0\n"),
            ("drop: [ALL]", "drop: [CAP_ALL]"), ("port: metrics}", "port: metric}"),
            ("{name: run, mountPath", "{name: runs, mountPath"), ("apps/v1", "apps/v1beta1"),
            ("matchLabels: {app.kubernetes.io/name: udp-fanout}", "matchLabels: {app: udp-fanout}"),
            ("prometheus.io/scrape: \"true\"", "prometheus.io/scrape: true"),
            ("runAsUser: 65532", "runAsUser: \"65532\""),
            ("image: udp-fanout:0.1.0", "image: udp-fanout"),
        ])
    func mistakes(right: String, wrong: String) throws {
        let text = try Tree.text("\(Self.folder)/base/daemonset.yaml")
        #expect(text.contains(right))
        let objects = try Value.documents(yaml: text.replacing(right, with: wrong))
        #expect(try !KubernetesAPI().problems(of: objects[0]).isEmpty)
    }
}
