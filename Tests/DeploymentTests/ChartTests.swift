// SPDX-License-Identifier: Apache-2.0

import FanoutConfig
import FanoutCore
import LinuxNet
import SchemaCheck
import Testing
import Tiers

@testable import udp_fanout

@Suite("The Helm chart", .tags(.unit))
struct ChartTests {
    static let folder = "packaging/kubernetes/chart"

    /// The chart's values with others laid over them, as Helm does it.
    static func values(_ own: String = "{}") throws -> Value {
        laid(try Value(yaml: own), over: try Tree.value("\(folder)/values.yaml"))
    }

    private static func laid(_ new: Value, over old: Value) -> Value {
        guard let members = new.object, let before = old.object else { return new }
        return .object(before.merging(members) { laid($1, over: $0) })
    }

    static func rendered(_ values: Value) throws -> Manifests {
        let chart = try Tree.value("\(folder)/Chart.yaml")
        let root = Value.object([
            "Values": values,
            "Release": .object(["Name": .text("fan"), "Namespace": .text("udp")]),
            "Chart": .object(["AppVersion": chart["appVersion"] ?? .null]),
        ])
        var objects: [Value] = []
        for file in try Tree.files(in: "\(folder)/templates", ending: ".yaml") {
            let text = try ChartTemplate(Tree.text(file)).rendered(root)
            objects += try Value.documents(yaml: text)
        }
        return Manifests(title: "chart", objects: objects)
    }

    @Test("says after the installation how to look at it")
    func notes() throws {
        let root = Value.object([
            "Release": .object(["Name": .text("fan"), "Namespace": .text("udp")]),
            "Values": try Self.values(),
        ])
        let text = try ChartTemplate(Tree.text("\(Self.folder)/templates/NOTES.txt")).rendered(root)
        #expect(text.contains("kubectl -n udp exec daemonset/fan -- udp-fanout status"))
    }

    static func rules() throws -> Schema { try Schema(Tree.value("\(folder)/values.schema.json")) }

    /// Values for one listener of a mode.
    static func values(of mode: ForwardingMode) -> String {
        let interface = mode.needsInterface ? "interface: eth0, " : ""
        return """
            mode: \(mode.rawValue)
            config:
              listeners:
                - {name: in, bind: "192.0.2.1:9000", mode: \(mode.rawValue), \(interface)
                   kubernetes: {namespace: far, service: s, port: 9000}}
            receiverNamespaces: [far]
            podMonitor: {enabled: true}
            """
    }

    @Test("its defaults make what the base makes")
    func defaults() throws {
        let values = try Self.values()
        #expect(try Self.rules().problems(of: values) == [])
        let manifests = try Self.rendered(values)
        try manifests.expectSound(.userspace)
        #expect(manifests.first("PodMonitor") == nil)
        let base = try KustomizeTests.manifests("base")
        #expect(try manifests.configuration == base.configuration)
        #expect(manifests.first("ClusterRole")?["rules"] == base.first("ClusterRole")?["rules"])
        // But for what only a chart has.
        var container = manifests.container?.object ?? [:]
        #expect(container.removeValue(forKey: "imagePullPolicy") == .text("IfNotPresent"))
        #expect(Value.object(container) == base.container)
        #expect(manifests.pod?["securityContext"] == base.pod?["securityContext"])
    }

    @Test("grants each mode exactly what it needs", arguments: ForwardingMode.allCases)
    func modes(mode: ForwardingMode) throws {
        let values = try Self.values(Self.values(of: mode))
        #expect(try Self.rules().problems(of: values) == [])
        let manifests = try Self.rendered(values)
        try manifests.expectSound(mode)
        let monitor = try #require(manifests.first("PodMonitor"))
        #expect(
            monitor["spec"]?["selector"] == manifests.first("DaemonSet")?["spec"]?["selector"])
    }

    @Test("knows every mode, and the configuration as the daemon does")
    func schema() throws {
        let rules = try Tree.value("\(Self.folder)/values.schema.json")
        let modes = rules["properties"]?["mode"]?["enum"]?.list?.compactMap(\.text)
        #expect(modes == ForwardingMode.allCases.map(\.rawValue))
        var own = try Value(yaml: ConfigurationSchema.text).object ?? [:]
        var parts = own.removeValue(forKey: "$defs")?.object ?? [:]
        own["$schema"] = nil
        own["title"] = nil
        parts["configuration"] = .object(own)
        #expect(rules["$defs"] == .object(parts), "run `make reference`")
        #expect(rules["properties"]?["config"] == .object(["$ref": .text("#/$defs/configuration")]))
    }

    @Test("is of the daemon's version")
    func version() throws {
        let chart = try Tree.value("\(Self.folder)/Chart.yaml")
        #expect(chart["appVersion"]?.text == Version.number)
        #expect(chart["version"]?.text == Version.number)
    }

    @Test(
        "refuses values that are wrong",
        arguments: [
            "mode: kernel", "mods: userspace", "metricsPort: 9090", "config: {listener: []}",
            "config: {listeners: [{name: a}]}", "podMonitor: {enabled: \"yes\"}",
            "receiverNamespaces: [A]", "image: {name: x}",
            "config: {settings: {workers: many}}", "nameOverride: A", "podAnnotations: {a: 1}",
            "imagePullSecrets: [name]", "affinity: none",
            // The probes would ask a server that is off, or that does not hear them.
            "config: {metrics: {enabled: false}}", "config: {metrics: {bind: \"127.0.0.1:9090\"}}",
            "config: {metrics: {bind: \"[::1]:9090\"}}", "config: {metrics: null}",
        ])
    func wrong(values: String) throws {
        #expect(try !Self.rules().problems(of: Self.values(values)).isEmpty)
    }

    @Test(
        "refuses a mode without the capabilities that its listeners need",
        arguments: ForwardingMode.allCases, ForwardingMode.allCases)
    func contradictions(mode: ForwardingMode, listener: ForwardingMode) throws {
        let text = Self.values(of: listener).replacing(
            "mode: \(listener.rawValue)\nconfig", with: "mode: \(mode.rawValue)\nconfig")
        let values = try Self.values(text)
        #expect(values["mode"]?.text == mode.rawValue)
        let isEnough = mode.capabilities.isSuperset(of: listener.capabilities)
        #expect(try Self.rules().problems(of: values).isEmpty == isEnough)
    }

    @Test("refuses preserve_source in userspace where the pods lack CAP_NET_RAW")
    func rawSockets() throws {
        for mode in ForwardingMode.allCases {
            let listeners = """
                mode: \(mode.rawValue)
                config:
                  listeners:
                    - {name: in, bind: "192.0.2.1:2055", preserve_source: true,
                       downstream: [{name: a, address: "192.0.2.2:1"}]}
                """
            let isAccepted = try Self.rules().problems(of: Self.values(listeners)).isEmpty
            #expect(isAccepted == mode.capabilities.contains(.netRaw), "\(mode)")
        }
    }

    @Test("refuses a listener whose endpoints it may not read", arguments: ["[]", "[near]"])
    func unreadable(namespaces: String) throws {
        let own = Self.values(of: .userspace).replacing("[far]", with: namespaces)
        let refusal = #expect(throws: ChartScope.Refusal.self) {
            try Self.rendered(Self.values(own))
        }
        #expect(
            refusal?.reason
                == "listener in: receiverNamespaces lacks far, where its endpoints are; add it")
        // Without a namespace it is the release's own.
        let local = own.replacing("namespace: far, ", with: "").replacing("near", with: "udp")
        if namespaces == "[near]" {
            _ = try Self.rendered(Self.values(local))
        } else {
            #expect(throws: ChartScope.Refusal.self) { try Self.rendered(Self.values(local)) }
        }
    }

    @Test(
        "has the pods scraped by annotations or by a PodMonitor, never by both",
        arguments: [false, true])
    func scraping(isMonitored: Bool) throws {
        let own = """
            podMonitor: {enabled: \(isMonitored)}
            podAnnotations: {team: edge}
            config: {metrics: {bind: "0.0.0.0:9100", path: /numbers}}
            """
        let values = try Self.values(own)
        #expect(try Self.rules().problems(of: values) == [])
        let manifests = try Self.rendered(values)
        try manifests.expectSound(.userspace)
        let notes = manifests.first("DaemonSet")?["spec"]?["template"]?["metadata"]?["annotations"]
        #expect(notes?["team"] == .text("edge"))
        #expect((notes?["prometheus.io/scrape"] == nil) == isMonitored)
        let monitor = manifests.first("PodMonitor")
        #expect((monitor != nil) == isMonitored)
        if let monitor {
            #expect(monitor["spec"]?["podMetricsEndpoints"]?[0]?["path"] == .text("/numbers"))
        }
    }

    @Test("takes what clusters ask for: a name, pull secrets, a priority, an affinity")
    func placement() throws {
        let own = """
            nameOverride: edge
            imagePullSecrets: [{name: registry}]
            priorityClassName: system-node-critical
            affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}
            """
        let values = try Self.values(own)
        #expect(try Self.rules().problems(of: values) == [])
        let manifests = try Self.rendered(values)
        for object in manifests.objects {
            #expect(object["metadata"]?["name"]?.text?.hasPrefix("edge") == true)
        }
        #expect(manifests.pod?["imagePullSecrets"]?[0]?["name"] == .text("registry"))
        #expect(manifests.pod?["priorityClassName"] == .text("system-node-critical"))
        #expect(manifests.pod?["affinity"] == values["affinity"])
        #expect(manifests.pod?["serviceAccountName"] == .text("edge"))
        #expect(manifests.pod?["volumes"]?[0]?["configMap"]?["name"] == .text("edge"))
    }

    @Test(
        "a template of another construct is refused, so that none is rendered otherwise than Helm would",
        arguments: [
            "{{ include \"x\" . }}", "{{ .Values.none }}", "{{ if .Values.mode }}a", "{{ end }}",
            "{{ .Values.mode -}} a", "{{ .Values.mode | upper }}", "{{ toYaml .Values.config }}",
            "{{ if and .Values.mode .Values.image }}a{{ end }}", "{{ .Values.mode",
            "{{ with .Values }}",
            "{{ .Values.image }}", "{{ $x := 1 }}", "{{/* words */}}",
        ])
    func otherConstructs(template: String) throws {
        let root = Value.object(["Values": try Self.values()])
        #expect(throws: Unreadable.self) { try ChartTemplate(template).rendered(root) }
    }
}
