// SPDX-License-Identifier: Apache-2.0

/// The protocol that most likely uses a port: by IANA's registry, or by convention (NetFlow).
public enum WellKnownProtocol: String, CaseIterable, Hashable, Sendable {
    case netFlow = "NetFlow"
    case ipfix = "IPFIX"
    case sFlow = "sFlow"
    case syslog = "syslog"
    case dns = "DNS"
    case radius = "RADIUS"
    case sip = "SIP"
    case dhcp = "DHCP"
    case tftp = "TFTP"
    case ntp = "NTP"
    case snmp = "SNMP"
    case quic = "QUIC"
    case ike = "IKE"
    case openVPN = "OpenVPN"
    case stun = "STUN"
    case coap = "CoAP"
    case wireGuard = "WireGuard"

    /// Nil if no protocol is known for the port.
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
        case .dhcp: [67, 547]
        case .tftp: [69]
        case .ntp: [123]
        // Not 162: traps need no reply.
        case .snmp: [161]
        case .quic: [443]
        case .ike: [500, 4500]
        case .openVPN: [1194]
        case .stun: [3478, 5349]
        case .coap: [5683, 5684]
        case .wireGuard: [51820]
        }
    }

    /// Whether senders wait for a reply.
    public var expectsReplies: Bool {
        switch self {
        case .netFlow, .ipfix, .sFlow, .syslog: false
        case .dns, .radius, .sip, .dhcp, .tftp, .ntp, .snmp, .quic, .ike, .openVPN, .stun, .coap,
            .wireGuard:
            true
        }
    }
}
