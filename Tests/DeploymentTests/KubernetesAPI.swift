// SPDX-License-Identifier: Apache-2.0

import SchemaCheck

/// What a Kubernetes API server says of an object, as far as Facts/kubernetes.yaml knows it.
struct KubernetesAPI {
    private let facts: Schema
    private let kinds: Set<String>

    init() throws {
        let text = try Tree.value("Tests/DeploymentTests/Facts/kubernetes.yaml")
        facts = try Schema(text)
        kinds = Set(text["$defs"]?.object?.keys.filter { $0.contains("/") } ?? [])
    }

    static func kind(of object: Value) -> String {
        "\(object["apiVersion"]?.text ?? "")/\(object["kind"]?.text ?? "")"
    }

    func problems(of object: Value) throws -> [String] {
        let kind = Self.kind(of: object)
        guard kinds.contains(kind) else { return ["no such kind is known: \(kind)"] }
        var found = try facts.definition(kind).problems(of: object)
        found += Self.inner(object)
        let name = object["metadata"]?["name"]?.text ?? ""
        return found.map { "\(kind) \(name): \($0)" }
    }

    /// What the server demands between fields.
    private static func inner(_ object: Value) -> [String] {
        guard let template = object["spec"]?["template"], let pod = template["spec"] else {
            return []
        }
        var found: [String] = []
        let labels = template["metadata"]?["labels"]?.object ?? [:]
        for (name, value) in object["spec"]?["selector"]?["matchLabels"]?.object ?? [:]
        where labels[name] != value {
            found.append("the selector does not match the template's \(name)")
        }
        let volumes = Set((pod["volumes"]?.list ?? []).compactMap { $0["name"]?.text })
        for container in pod["containers"]?.list ?? [] {
            let mounts = container["volumeMounts"]?.list ?? []
            for mount in mounts where !volumes.contains(mount["name"]?.text ?? "") {
                found.append("a mount of no volume: \(mount["name"]?.text ?? "")")
            }
            let ports = Set((container["ports"]?.list ?? []).compactMap { $0["name"]?.text })
            for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
                guard let port = container[probe]?["httpGet"]?["port"]?.text else { continue }
                if !ports.contains(port) { found.append("\(probe) asks no port \(port)") }
            }
        }
        return found
    }
}
