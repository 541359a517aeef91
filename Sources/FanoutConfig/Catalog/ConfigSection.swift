// SPDX-License-Identifier: Apache-2.0

/// A mapping of the configuration file: a set of keys that stand together.
public enum ConfigSection: CaseIterable, Hashable, Sendable {
    case root, listener, downstream, kubernetes, file, dns, settings, health, metrics, control

    /// Where the section stands, `[]` marking the items of a list; the first is the usual place.
    public var paths: [String] {
        switch self {
        case .root: [""]
        case .listener: ["listeners[]"]
        case .downstream: ["listeners[].downstream[]"]
        case .kubernetes: ["listeners[].kubernetes"]
        case .file: ["listeners[].file"]
        case .dns: ["listeners[].dns"]
        case .settings: ["settings", "listeners[].settings"]
        case .health: ["health"]
        case .metrics: ["metrics"]
        case .control: ["control"]
        }
    }

    /// The section's keys in the order in which documentation lists them.
    public var keys: [ConfigKey] { Self.keysBySection[self] ?? [] }

    /// The key of this section that is written so.
    func key(named name: String) -> ConfigKey? { Self.keysByName[self]?[name] }

    /// The keys that must be written whenever the section is.
    var requiredKeys: [ConfigKey] { Self.requiredBySection[self] ?? [] }

    private static let keysByName = keysBySection.mapValues { keys in
        Dictionary(uniqueKeysWithValues: keys.map { ($0.name, $0) })
    }
    private static let requiredBySection = keysBySection.mapValues { keys in
        keys.filter { $0.defaultValue == .required }
    }
    private static let keysBySection = Dictionary(grouping: ConfigKey.allCases, by: \.section)
}
