// SPDX-License-Identifier: Apache-2.0

/// A mapping of the configuration file: a set of keys that stand together.
public enum ConfigSection: CaseIterable, Hashable, Sendable {
    case root, listener, downstream, kubernetes, settings, health, metrics

    /// Where the section stands, `[]` marking the items of a list; the first is the usual place.
    public var paths: [String] {
        switch self {
        case .root: [""]
        case .listener: ["listeners[]"]
        case .downstream: ["listeners[].downstream[]"]
        case .kubernetes: ["listeners[].kubernetes"]
        case .settings: ["settings", "listeners[].settings"]
        case .health: ["health"]
        case .metrics: ["metrics"]
        }
    }

    /// The section's keys in the order in which documentation lists them.
    public var keys: [ConfigKey] { Self.keysBySection[self] ?? [] }

    private static let keysBySection = Dictionary(grouping: ConfigKey.allCases, by: \.section)
}
