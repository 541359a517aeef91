// SPDX-License-Identifier: Apache-2.0

/// What a listener of mode `xdp_nat` has beside what every listener has.
public struct NATSettings: Hashable, Sendable {
    /// The most associations that can be asked for.
    public static let associationsLimit = 1 << 26

    /// Ports that are served beside that of `bind`. On each a receiver is met at the same port, unless
    /// it was written with another than that of `bind`.
    public var furtherPorts: [UInt16]
    public var transport: NATTransport
    /// Whether clients and servers are behind one gateway, so that a packet goes back where it came
    /// from; otherwise the kernel's routes say where.
    public var isOneArm: Bool
    /// How many clients are remembered, rounded up to a power of two, 1...`associationsLimit`. One
    /// number for all listeners of the mode: the largest.
    public var maxAssociations: Int
    /// Whether clients that no server has answered are remembered apart from the others, so that a
    /// flood of them pushes out nobody else.
    public var keepsUnansweredApart: Bool

    public init(
        furtherPorts: [UInt16] = [], transport: NATTransport = .udp, isOneArm: Bool = false,
        maxAssociations: Int = 1 << 20, keepsUnansweredApart: Bool = true
    ) {
        self.furtherPorts = furtherPorts
        self.transport = transport
        self.isOneArm = isOneArm
        self.maxAssociations = maxAssociations
        self.keepsUnansweredApart = keepsUnansweredApart
    }
}

/// What `xdp_nat` translates. The raw value is the spelling in YAML.
public enum NATTransport: String, CaseIterable, Hashable, Sendable {
    case udp, tcp, both

    /// The protocol numbers (IANA).
    public var numbers: [UInt8] {
        switch self {
        case .udp: [17]
        case .tcp: [6]
        case .both: [17, 6]
        }
    }
}
