// SPDX-License-Identifier: Apache-2.0

/// Finds out about one subject, and goes on doing so.
public protocol DiscoverySource: Sendable {
    /// Publishes what there is as soon as it is known, and again whenever it may have changed, always
    /// the whole of it. What was published last holds until then, whatever fails in between: an
    /// outage publishes nothing; only an empty answer removes all receivers.
    ///
    /// - Parameter publish: never called after this returns.
    /// - Returns: when the task is cancelled, and not before.
    func run(_ publish: @escaping @Sendable (DiscoveredSet) -> Void) async

    /// What it has been through so far, for metrics.
    var status: SourceStatus { get }
}

/// What a source has been through.
public struct SourceStatus: Equatable, Sendable {
    /// Since what is known was last confirmed; before the first time, since the source began.
    public var syncAge: Duration
    /// How often everything was read anew, by reason.
    public var relists: [String: UInt64]
    /// What went wrong, by code.
    public var errors: [String: UInt64]

    public init(
        syncAge: Duration = .zero, relists: [String: UInt64] = [:], errors: [String: UInt64] = [:]
    ) {
        self.syncAge = syncAge
        self.relists = relists
        self.errors = errors
    }
}

/// What discovery has found and been through, for metrics.
public struct DiscoveryReport: Equatable, Sendable {
    /// One source.
    public struct Source: Equatable, Sendable {
        public var subject: DiscoverySubject
        public var status: SourceStatus
        /// Endpoints by state; empty before the first were found.
        public var endpoints: [String: Int]

        public init(
            subject: DiscoverySubject, status: SourceStatus, endpoints: [String: Int] = [:]
        ) {
            self.subject = subject
            self.status = status
            self.endpoints = endpoints
        }
    }

    /// Why receivers that were found are not used. The raw value is the metric label `reason`.
    public enum Unused: String, CaseIterable, Hashable, Sendable {
        /// There are more than `settings.max_downstream`.
        case surplus
        /// They forward to the listener again.
        case loop
        /// In mode `xdp_nat` another listener has them, or they have a port of their own, where they would be met
        /// for each of the listener's ports.
        case shared
        /// They have no address of the listener's family, or not its port.
        case unsuitable
    }

    /// In the order of the subjects.
    public var sources: [Source]
    /// How many are not used, by listener and reason; each listener with discovery is there, with every reason.
    public var unused: [String: [Unused: Int]]

    public init(sources: [Source] = [], unused: [String: [Unused: Int]] = [:]) {
        self.sources = sources
        self.unused = unused
    }
}

/// What was found and the last-known receivers, saved for the next process.
public protocol DiscoveryMemory: Sendable {
    /// What was kept last of what listeners of this state look up.
    func recall(_ state: DesiredState) -> DiscoveryView

    /// Keeps this instead, but for the addresses of the host.
    ///
    /// - Throws: why it cannot; what was kept before is still there.
    func keep(_ view: DiscoveryView) throws
}
