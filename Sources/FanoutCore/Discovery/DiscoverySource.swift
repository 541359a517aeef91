// SPDX-License-Identifier: Apache-2.0

/// Looks up one subject and watches it for changes.
public protocol DiscoverySource: Sendable {
    /// Publishes everything that it knows as soon as it knows it, and again whenever that may have changed. The
    /// last set published stays valid, whatever fails: an outage publishes nothing, and only an empty answer
    /// removes all receivers.
    ///
    /// - Parameter publish: never called after this returns.
    /// - Returns: only when the task is cancelled.
    func run(_ publish: @escaping @Sendable (DiscoveredSet) -> Void) async

    /// Its state, for metrics.
    var status: SourceStatus { get }
}

/// The state of a source.
public struct SourceStatus: Equatable, Sendable {
    /// Time since the data was last confirmed, or since the source started if it never was.
    public var syncAge: Duration
    /// How often everything was read again, by reason.
    public var relists: [String: UInt64]
    /// Errors by code.
    public var errors: [String: UInt64]

    public init(
        syncAge: Duration = .zero, relists: [String: UInt64] = [:], errors: [String: UInt64] = [:]
    ) {
        self.syncAge = syncAge
        self.relists = relists
        self.errors = errors
    }
}

/// Results and state of discovery, for metrics.
public struct DiscoveryReport: Equatable, Sendable {
    /// One source.
    public struct Source: Equatable, Sendable {
        public var subject: DiscoverySubject
        public var status: SourceStatus
        /// Endpoints by state; empty until the first are found.
        public var endpoints: [String: Int]

        public init(
            subject: DiscoverySubject, status: SourceStatus, endpoints: [String: Int] = [:]
        ) {
            self.subject = subject
            self.status = status
            self.endpoints = endpoints
        }
    }

    /// Why a receiver that was found is not used. The raw value is the metric label `reason`.
    public enum Unused: String, CaseIterable, Hashable, Sendable {
        /// There are more than `settings.max_downstream`.
        case surplus
        /// It forwards to the listener again.
        case loop
        /// In mode `xdp_nat`: another listener has it, or it has its own port and the listener has several.
        case shared
        /// It has no address of the listener's family, or not the listener's port.
        case unsuitable
    }

    /// In the order of the subjects.
    public var sources: [Source]
    /// How many receivers are not used, by listener and reason. Contains every listener with discovery and every
    /// reason.
    public var unused: [String: [Unused: Int]]

    public init(sources: [Source] = [], unused: [String: [Unused: Int]] = [:]) {
        self.sources = sources
        self.unused = unused
    }
}

/// Saves what was found and the last-known receivers for the next process.
public protocol DiscoveryMemory: Sendable {
    /// Returns what was last saved of the subjects of this state.
    func recall(_ state: DesiredState) -> DiscoveryView

    /// Replaces what was saved. The host's addresses are not saved.
    ///
    /// - Throws: why it failed; what was saved before is kept.
    func keep(_ view: DiscoveryView) throws
}
