// SPDX-License-Identifier: Apache-2.0

/// The targets to probe.
public struct ProbePlan: Equatable, Sendable {
    /// All of one kind, without duplicates.
    public var targets: Set<ProbeTarget>
    /// See `HealthPolicy`.
    public var interval: Duration
    public var timeout: Duration
    public var payload: ProbePayload
    /// Local ports that no probe may use. Listeners of the kernel modes, which have no socket, would take the
    /// replies for their own traffic.
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

    /// Whether a probe of this kind fails without a reply within the timeout.
    public func expectsReply(_ kind: ProbeKind) -> Bool { kind != .udp || payload.expectsReply }
}

/// Probes targets and reports the results.
public protocol HealthProbe: Sendable {
    /// Probes the targets of the plan until the next plan. A target that stays keeps its schedule; each new one is
    /// probed within one interval.
    ///
    /// - Parameter report: called with each finished probe, on a thread of the probe. May include probes that
    ///   finished before this plan.
    /// - Throws: `HealthError` if a socket or the privilege for one is missing; the previous plan then stays
    ///   active.
    func follow(
        _ plan: ProbePlan, report: @escaping @Sendable ([ProbeReport]) -> Void
    ) throws(HealthError)

    /// Stops probing. No report follows after it returns.
    func stop()
}

/// Why health checks could not start, and the remedy.
public struct HealthError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The failed operation, such as `open`.
    public let operation: String
    /// Its subject, such as an ICMP socket.
    public let subject: String
    /// The kernel's errno.
    public let code: Int32
    /// The kernel's name of the error.
    public let reason: String
    /// What the operator can do.
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
