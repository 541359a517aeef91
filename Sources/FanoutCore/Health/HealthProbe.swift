// SPDX-License-Identifier: Apache-2.0

/// The targets to probe from now on.
public struct ProbePlan: Equatable, Sendable {
    /// All of one kind, each once.
    public var targets: Set<ProbeTarget>
    /// See `HealthPolicy`.
    public var interval: Duration
    public var timeout: Duration
    public var payload: ProbePayload
    /// Local ports that no probe may use: listeners of the kernel modes, which have no socket, would
    /// take the answers for their own traffic.
    public var avoidedPorts: Set<UInt16>

    public init(
        targets: Set<ProbeTarget>, interval: Duration, timeout: Duration,
        payload: ProbePayload = .usual, avoidedPorts: Set<UInt16> = []
    ) {
        self.targets = targets
        self.interval = interval
        self.timeout = timeout
        self.payload = payload
        self.avoidedPorts = avoidedPorts
    }

    /// Whether a probe of this kind fails when no reply comes within the timeout.
    public func expectsReply(_ kind: ProbeKind) -> Bool { kind != .udp || payload.expectsReply }
}

/// Probes targets, each in its turn, and tells what came of it.
public protocol HealthProbe: Sendable {
    /// Probes what the plan names, from now on and until the next plan. A target that stays keeps its
    /// turn; each is probed for the first time within one interval.
    ///
    /// - Parameter report: called with the probes that are over, from a thread of the probe's own. One
    ///   that was over before the plan may still be among them.
    /// - Throws: `HealthError` when a socket or the privilege for one is missing; the plan before then
    ///   stays.
    func follow(
        _ plan: ProbePlan, report: @escaping @Sendable ([ProbeReport]) -> Void
    ) throws(HealthError)

    /// Ends. No report comes after it returns.
    func stop()
}

/// Health checks that could not begin, and what to do about it.
public struct HealthError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was tried, such as `open`.
    public let operation: String
    /// On what, such as an ICMP socket.
    public let subject: String
    /// The kernel's errno.
    public let code: Int32
    /// The kernel's name of the error.
    public let reason: String
    /// What the reader can do.
    public let remedy: String

    public init(operation: String, subject: String, code: Int32, reason: String, remedy: String) {
        self.operation = operation
        self.subject = subject
        self.code = code
        self.reason = reason
        self.remedy = remedy
    }

    public var description: String { "\(operation) \(subject): \(reason): \(remedy)" }
}
