// SPDX-License-Identifier: Apache-2.0

/// What `drain` or `undrain` has done.
public struct DrainReport: Codable, Equatable, Sendable {
    /// The receivers that were meant, `listener/receiver`.
    public var receivers: [String]
    /// Whether anything is other than before.
    public var changed: Bool
    /// Everything that is drained now.
    public var drained: [String]
    /// Listeners that are left without a receiver for new traffic.
    public var listenersWithoutReceiver: [String]

    public init(
        receivers: [String], changed: Bool, drained: [String], listenersWithoutReceiver: [String]
    ) {
        self.receivers = receivers
        self.changed = changed
        self.drained = drained
        self.listenersWithoutReceiver = listenersWithoutReceiver
    }
}

/// What came of `reload`.
public struct ReloadReport: Codable, Equatable, Sendable {
    /// The change in a few words, by key, such as `retargeted`: `syslog`.
    public var changes: [String: String]
    public var warnings: [String]
    /// Why the configuration before stays in force; empty when the new one is.
    public var problems: [String]

    public init(changes: [String: String] = [:], warnings: [String] = [], problems: [String] = []) {
        self.changes = changes
        self.warnings = warnings
        self.problems = problems
    }
}
