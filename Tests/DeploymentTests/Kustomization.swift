// SPDX-License-Identifier: Apache-2.0

import SchemaCheck

/// What `kubectl kustomize` makes of a folder, of the constructs that this tree uses: `resources` and `patches`
/// by strategic merge. The schema of its kind refuses others.
struct Kustomization {
    let objects: [Value]

    init(folder: String) throws {
        let own = try Tree.value("\(folder)/kustomization.yaml")
        let problems = try KubernetesAPI().problems(of: own)
        guard problems.isEmpty else { throw Unreadable("\(folder): \(problems)") }
        var objects: [Value] = []
        for name in own["resources"]?.list?.compactMap(\.text) ?? [] {
            let path = "\(folder)/\(name)"
            objects +=
                name.hasSuffix(".yaml")
                ? try Value.documents(yaml: Tree.text(path))
                : try Kustomization(folder: path).objects
        }
        for entry in own["patches"]?.list ?? [] {
            let name = entry["path"]?.text ?? ""
            for patch in try Value.documents(yaml: Tree.text("\(folder)/\(name)")) {
                guard
                    let index = objects.firstIndex(where: {
                        Self.identity($0) == Self.identity(patch)
                    })
                else { throw Unreadable("\(folder)/\(name) patches nothing") }
                objects[index] = Self.merged(objects[index], patch, key: "")
            }
        }
        self.objects = objects
    }

    private static func identity(_ object: Value) -> [String?] {
        [
            KubernetesAPI.kind(of: object), object["metadata"]?["namespace"]?.text,
            object["metadata"]?["name"]?.text,
        ]
    }

    /// By which member the items of a list are known (x-kubernetes-patch-merge-key); other lists are replaced.
    private static let mergeKeys = [
        "containers": "name", "volumes": "name", "env": "name", "volumeMounts": "mountPath",
        "ports": "containerPort",
    ]

    private static func merged(_ old: Value, _ patch: Value, key: String) -> Value {
        if let members = patch.object, let before = old.object {
            var result = before
            for (name, value) in members {
                result[name] =
                    value == .null
                    ? nil : before[name].map { merged($0, value, key: name) } ?? value
            }
            return .object(result)
        }
        if let items = patch.list, let before = old.list, let mergeKey = mergeKeys[key] {
            var result = before
            for item in items {
                if let index = result.firstIndex(where: { $0[mergeKey] == item[mergeKey] }) {
                    result[index] = merged(result[index], item, key: "")
                } else {
                    result.append(item)
                }
            }
            return .list(result)
        }
        return patch
    }
}
