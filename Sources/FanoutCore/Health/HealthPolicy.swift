// SPDX-License-Identifier: Apache-2.0

/// How receivers are probed, and the thresholds of their health status.
public struct HealthPolicy: Equatable, Sendable {
    public var kind: ProbeKind
    /// The port that probes go to, 1...65535; nil: the receiver's own. Ignored by kinds without a port.
    public var port: UInt16?
    /// What a probe of kind `udp` sends.
    public var payload: ProbePayload
    /// The maximum time between two probes of a target.
    public var interval: Duration
    /// How long to wait for a reply; at most `interval`.
    public var timeout: Duration
    /// Consecutive successes that enable a receiver, 1...100.
    public var rise: Int
    /// Consecutive failures that disable a receiver, 1...100.
    public var fall: Int
    /// A listener with a smaller percentage of healthy receivers uses all of them, 0...100: an error of the probes
    /// is then more likely than so many failures.
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

    /// The target to probe for a receiver at `endpoint`.
    public func target(of endpoint: Endpoint) -> ProbeTarget {
        let port = kind.hasPort ? port ?? endpoint.port : 0
        return ProbeTarget(kind: kind, endpoint: Endpoint(endpoint.address, port: port))
    }
}

/// How the health of receivers is checked; without either policy every receiver counts as healthy.
public struct HealthChecks: Equatable, Sendable {
    /// By probes; nil: none are sent.
    public var active: HealthPolicy?
    /// By refusals of forwarded datagrams; nil: refusals are ignored.
    public var passive: HealthPolicy?

    public init(active: HealthPolicy? = nil, passive: HealthPolicy? = nil) {
        (self.active, self.passive) = (active, passive)
    }

    public var isEmpty: Bool { active == nil && passive == nil }
}

/// How a receiver is probed. The raw value is the spelling in YAML and logs.
public enum ProbeKind: String, CaseIterable, Hashable, Sendable {
    /// An ICMP or ICMPv6 echo request, which the host answers (RFC 792, RFC 4443 section 4.1).
    case icmp
    /// A datagram with a nonce, which the receiver sends back.
    case udpEcho = "udp_echo"
    /// A datagram. Any reply counts as success, and so does silence unless the payload is a request
    /// (`ProbePayload.expectsReply`).
    case udp
    /// A TCP connection, which is reset once established.
    case tcp

    /// Whether the probe goes to a port, and not to the host as a whole.
    public var hasPort: Bool { self != .icmp }
}

/// The result of a probe. The raw value is the metric label `result`.
public enum ProbeResult: String, CaseIterable, Hashable, Sendable {
    case success
    /// No reply in time.
    case timeout
    /// The host replied that the port is closed.
    case refused
    /// No route, or a router or the link layer reported that the host is unreachable.
    case unreachable
    /// A reply without the nonce.
    case wrongAnswer = "wrong_answer"
    /// This host could not send the probe, which says nothing about the receiver.
    case error

    /// Whether the receiver is alive; nil if the result does not tell.
    public var isAlive: Bool? {
        switch self {
        case .success: true
        case .timeout, .refused, .unreachable, .wrongAnswer: false
        case .error: nil
        }
    }
}

/// What a probe of kind `udp` sends. The presets are requests that servers of a protocol answer without side
/// effects.
public enum ProbePayload: Hashable, Sendable {
    /// 1...512 bytes.
    case bytes([UInt8])
    /// A query for the name servers of the root, recursion not desired (RFC 1035).
    case dns
    /// A Status-Server request (RFC 5997), signed with the secret that the server shares with this host.
    case radiusStatus(secret: [UInt8])
    /// An OPTIONS request (RFC 3261 section 11).
    case sipOptions
    /// An empty confirmable message (RFC 7252 section 4.3).
    case coapPing
    /// A datagram without payload.
    case empty

    /// Not empty: a simple receiver takes an empty datagram for the end of its input.
    public static let usual = ProbePayload.bytes(Array("udp-fanout probe".utf8))

    /// Whether a live receiver replies, so that silence is a failure.
    public var expectsReply: Bool {
        switch self {
        case .dns, .radiusStatus, .sipOptions, .coapPing: true
        case .bytes, .empty: false
        }
    }

    /// The spelling of a preset in YAML.
    public enum Preset: String, CaseIterable, Hashable, Sendable {
        case dns
        case radiusStatus = "radius_status"
        case sipOptions = "sip_options"
        case coapPing = "coap_ping"
        case empty
    }

    /// - Parameter secret: for `radiusStatus`.
    public init(_ preset: Preset, secret: [UInt8] = []) {
        switch preset {
        case .dns: self = .dns
        case .radiusStatus: self = .radiusStatus(secret: secret)
        case .sipOptions: self = .sipOptions
        case .coapPing: self = .coapPing
        case .empty: self = .empty
        }
    }
}

/// What is probed. Receivers with the same target, also of different listeners, share its probes.
public struct ProbeTarget: Hashable, Sendable {
    public let kind: ProbeKind
    /// The destination of the probe; the port is 0 if the kind has none.
    public let endpoint: Endpoint

    public init(kind: ProbeKind, endpoint: Endpoint) {
        self.kind = kind
        self.endpoint = endpoint
    }
}

/// A finished probe.
public struct ProbeReport: Equatable, Sendable {
    public let target: ProbeTarget
    public let result: ProbeResult
    /// The operation and errno of the result, such as `connect: ECONNREFUSED`; empty without one.
    public let detail: String

    public init(_ target: ProbeTarget, _ result: ProbeResult, detail: String = "") {
        self.target = target
        self.result = result
        self.detail = detail
    }
}
