// SPDX-License-Identifier: Apache-2.0

/// A protocol that most likely arrives at a port: by IANA's list of services, or by convention (NetFlow).
public enum WellKnownProtocol: String, CaseIterable, Hashable, Sendable {
    case netFlow = "NetFlow"
    case ipfix = "IPFIX"
    case sFlow = "sFlow"
    case syslog = "syslog"
    case dns = "DNS"
    case radius = "RADIUS"
    case sip = "SIP"

    /// nil for a port that none of them has.
    public init?(port: UInt16) {
        guard let found = Self.allCases.first(where: { $0.ports.contains(port) }) else {
            return nil
        }
        self = found
    }

    public var ports: [UInt16] {
        switch self {
        case .netFlow: [2055, 9995, 9996]
        case .ipfix: [4739]
        case .sFlow: [6343]
        case .syslog: [514]
        case .dns: [53]
        case .radius: [1812, 1813]
        case .sip: [5060]
        }
    }

    /// Whether a sender waits for a reply.
    public var expectsReplies: Bool {
        switch self {
        case .dns, .radius, .sip: true
        case .netFlow, .ipfix, .sFlow, .syslog: false
        }
    }
}
