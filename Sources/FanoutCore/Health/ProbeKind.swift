// SPDX-License-Identifier: Apache-2.0

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
    /// Its host said that nobody listens there.
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
