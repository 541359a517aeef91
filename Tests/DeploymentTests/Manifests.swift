// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import LinuxNet
import SchemaCheck
import Testing

@testable import udp_fanout

/// The objects of one installation, as they would reach the API server.
struct Manifests {
    let title: String
    let objects: [Value]

    func first(_ kind: String) -> Value? { objects.first { $0["kind"]?.text == kind } }

    var pod: Value? { first("DaemonSet")?["spec"]?["template"]?["spec"] }
    var container: Value? { pod?["containers"]?[0] }

    /// What the ConfigMap has for the daemon.
    var configuration: Configuration {
        get throws {
            let text = first("ConfigMap")?["data"]?["config.yaml"]?.text ?? ""
            switch Configuration.read(text, file: title) {
            case .valid(let configuration, let warnings):
                guard warnings.isEmpty else { throw Unreadable("\(warnings)") }
                return configuration
            case .invalid(let problems): throw Unreadable("\(problems)")
            }
        }
    }

    /// What must hold of every installation, whatever made it.
    func expectSound(_ mode: ForwardingMode) throws {
        let api = try KubernetesAPI()
        for object in objects { #expect(try api.problems(of: object) == [], "\(title)") }
        let identities = objects.map {
            [
                KubernetesAPI.kind(of: $0), $0["metadata"]?["namespace"]?.text,
                $0["metadata"]?["name"]?.text,
            ]
        }
        #expect(Set(identities).count == identities.count, "\(title): an object stands twice")
        let configuration = try configuration
        #expect(configuration.listeners.map(\.mode) == [mode], "\(title)")
        try expectRights(mode)
        try expectProbes(configuration)
        try expectAccess(configuration)
    }

    /// Exactly the capabilities that the daemon says the mode needs, and root only where pins need it.
    private func expectRights(_ mode: ForwardingMode) throws {
        let pod = try #require(pod, "\(title)")
        let container = try #require(container, "\(title)")
        let context = container["securityContext"]
        let granted = context?["capabilities"]?["add"]?.list?.compactMap(\.text) ?? []
        #expect(Set(granted.map { "CAP_" + $0 }) == Set(mode.capabilities.names), "\(title)")
        #expect(granted == granted.sorted())
        #expect(context?["capabilities"]?["drop"] == .list([.text("ALL")]))
        #expect(context?["allowPrivilegeEscalation"] == .boolean(false))
        #expect(context?["readOnlyRootFilesystem"] == .boolean(true))
        #expect(context?["privileged"] == nil)
        let isKernelMode = mode.needsInterface
        #expect(pod["securityContext"]?["runAsNonRoot"] == .boolean(!isKernelMode))
        #expect(pod["securityContext"]?["runAsUser"] == .integer(isKernelMode ? 0 : 65532))
        #expect(pod["securityContext"]?["seccompProfile"]?["type"] == .text("RuntimeDefault"))
        let mounts = container["volumeMounts"]?.list ?? []
        #expect(mounts.contains { $0["mountPath"] == .text("/sys/fs/bpf") } == isKernelMode)
        #expect((context?["appArmorProfile"] != nil) == isKernelMode)
        #expect(pod["hostNetwork"] == .boolean(true))
        #expect(pod["dnsPolicy"] == .text("ClusterFirstWithHostNet"))
    }

    /// Probes and Prometheus ask where the configuration has the metrics server.
    private func expectProbes(_ configuration: Configuration) throws {
        let container = try #require(container, "\(title)")
        #expect(configuration.metrics.enabled)
        #expect(configuration.metrics.bind.address.isWildcard)
        let port = Int(configuration.metrics.bind.port)
        #expect(container["ports"]?[0]?["containerPort"] == .integer(port))
        let paths = ["startupProbe", "livenessProbe", "readinessProbe"].map {
            container[$0]?["httpGet"]?["path"]?.text
        }
        #expect(paths == ["/healthz", "/healthz", "/readyz"])
        // One of the two: both would scrape each pod twice.
        let notes = first("DaemonSet")?["spec"]?["template"]?["metadata"]?["annotations"]
        let isMonitored = first("PodMonitor") != nil
        #expect(notes?["prometheus.io/port"] == (isMonitored ? nil : .text("\(port)")))
        let path: Value? = isMonitored ? nil : .text(configuration.metrics.path)
        #expect(notes?["prometheus.io/path"] == path)
    }

    /// The account may read what the configuration looks up, where it does, and nothing else.
    private func expectAccess(_ configuration: Configuration) throws {
        let role = try #require(first("ClusterRole"), "\(title)")
        let verbs = Value.list([.text("get"), .text("list"), .text("watch")])
        for rule in role["rules"]?.list ?? [] { #expect(rule["verbs"] == verbs) }
        let resources = (role["rules"]?.list ?? []).compactMap { $0["resources"]?[0]?.text }
        #expect(resources == ["endpointslices", "services"])
        let bindings = objects.filter { $0["kind"] == .text("RoleBinding") }
        for binding in bindings {
            #expect(binding["roleRef"]?["name"] == role["metadata"]?["name"])
            #expect(binding["subjects"]?[0]?["name"] == pod?["serviceAccountName"])
            #expect(
                binding["subjects"]?[0]?["namespace"]
                    == first("ServiceAccount")?["metadata"]?["namespace"])
        }
        let open = Set(bindings.compactMap { $0["metadata"]?["namespace"]?.text })
        let wanted = Set(configuration.listeners.compactMap { $0.kubernetes?.namespace })
        #expect(open == wanted, "\(title)")
    }
}
