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

/// How the health of receivers is checked; without either policy every receiver counts as healthy.
public struct HealthChecks: Equatable, Sendable {
    /// By probes; nil: none are sent.
    public var active: HealthPolicy?
    /// By refusals of forwarded datagrams; nil: they do not matter.
    public var passive: HealthPolicy?

    public init(active: HealthPolicy? = nil, passive: HealthPolicy? = nil) {
        (self.active, self.passive) = (active, passive)
    }

    public var isEmpty: Bool { active == nil && passive == nil }
}

/// How a receiver is asked whether it is alive. The raw value is the spelling in YAML and logs.
public enum ProbeKind: String, CaseIterable, Hashable, Sendable {
    /// An ICMP or ICMPv6 echo request, which its host answers (RFC 792, RFC 4443 section 4.1).
    case icmp
    /// A datagram with a nonce, which the receiver sends back.
    case udpEcho = "udp_echo"
    /// A datagram: any reply is a sign of life. Silence is, too, unless the payload is a request
    /// (`ProbePayload.expectsReply`).
    case udp
    /// A TCP connection, which is reset as soon as it is there.
    case tcp

    /// Whether the probe goes to a port of the receiver's host, and not to the host as a whole.
    public var hasPort: Bool { self != .icmp }
}

/// What came of one probe. The raw value is the metric label `result`.
public enum ProbeResult: String, CaseIterable, Hashable, Sendable {
    case success
    /// No answer in time.
    case timeout
    /// Its host replied that the port is closed.
    case refused
    /// There is no way to it: no route, or a router or the link layer gave it up.
    case unreachable
    /// It answered, but not with the nonce.
    case wrongAnswer = "wrong_answer"
    /// This host could not send the probe, so it says nothing about the receiver.
    case error

    /// Whether the receiver is alive by it; nil when it says nothing.
    public var isAlive: Bool? {
        switch self {
        case .success: true
        case .timeout, .refused, .unreachable, .wrongAnswer: false
        case .error: nil
        }
    }
}

/// What a probe of kind `udp` sends. The presets are requests that servers of a protocol answer without doing anything.
public enum ProbePayload: Hashable, Sendable {
    /// These, 1...512 of them.
    case bytes([UInt8])
    /// A query for the name servers of the root, recursion not desired (RFC 1035).
    case dns
    /// A Status-Server request (RFC 5997), signed with the secret that the server has for this host.
    case radiusStatus(secret: [UInt8])
    /// An OPTIONS request (RFC 3261 section 11).
    case sipOptions
    /// An empty confirmable message (RFC 7252 section 4.3).
    case coapPing
    /// A datagram without payload.
    case empty

    /// A naive receiver takes an empty datagram for the end of its input, so there is a text.
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

    /// - Parameter secret: of `radiusStatus`.
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

/// What is probed. Downstreams that lead to the same target, of whichever listener, share its probes.
public struct ProbeTarget: Hashable, Sendable {
    public let kind: ProbeKind
    /// Where the probe goes; the port is 0 when the kind has none.
    public let endpoint: Endpoint

    public init(kind: ProbeKind, endpoint: Endpoint) {
        self.kind = kind
        self.endpoint = endpoint
    }
}

/// A probe that is over.
public struct ProbeReport: Equatable, Sendable {
    public let target: ProbeTarget
    public let result: ProbeResult
    /// The operation and errno behind the result, such as `connect: ECONNREFUSED`; empty without one.
    public let detail: String

    public init(_ target: ProbeTarget, _ result: ProbeResult, detail: String = "") {
        self.target = target
        self.result = result
        self.detail = detail
    }
}
