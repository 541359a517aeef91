// SPDX-License-Identifier: Apache-2.0

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
