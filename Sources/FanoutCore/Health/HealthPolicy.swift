// SPDX-License-Identifier: Apache-2.0

/// How the downstreams are probed, and what follows from it.
public struct HealthPolicy: Equatable, Sendable {
    public var kind: ProbeKind
    /// Where probes go instead of the downstream's own port, 1...65535; nil: its own. Of no meaning for
    /// kinds without a port.
    public var port: UInt16?
    /// What a probe of kind `udp` sends.
    public var payload: ProbePayload
    /// The longest time from one probe of a target to the next.
    public var interval: Duration
    /// How long an answer may take; at most `interval`.
    public var timeout: Duration
    /// Successes in a row that enable a downstream, 1...100.
    public var rise: Int
    /// Failures in a row that disable one, 1...100.
    public var fall: Int
    /// When fewer of a listener's downstreams are healthy, 0...100 in a hundred, it uses them all:
    /// more likely the probes are wrong than so many receivers dead.
    public var minHealthyPercent: Int

    public init(
        kind: ProbeKind = .icmp, port: UInt16? = nil, payload: ProbePayload = .usual,
        interval: Duration = .seconds(5), timeout: Duration = .seconds(2), rise: Int = 1,
        fall: Int = 3, minHealthyPercent: Int = 0
    ) {
        self.kind = kind
        self.port = port
        self.payload = payload
        self.interval = interval
        self.timeout = timeout
        self.rise = rise
        self.fall = fall
        self.minHealthyPercent = minHealthyPercent
    }

    /// What is probed for a downstream at `endpoint`.
    public func target(of endpoint: Endpoint) -> ProbeTarget {
        let port = kind.hasPort ? port ?? endpoint.port : 0
        return ProbeTarget(kind: kind, endpoint: Endpoint(endpoint.address, port: port))
    }
}
