// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
public import FanoutCore
internal import Glibc

/// A rule that chooses the routing table (ip-rule(8)), as far as it concerns one who only has to
/// look his routes up again.
public struct PolicyRule: Hashable, Sendable {
    public let family: IPAddress.Family
    /// The lowest is asked first.
    public let priority: UInt32
    /// The table that it leads to; 0 for rules that lead to none.
    public let table: UInt32
    /// Whether it asks more of a packet than where it goes: where it comes from, or by which interface,
    /// its ports, its type of service. Then two packets to one host may go different ways.
    public let looksBeyondDestination: Bool

    /// Whether it is one of those that every network begins with (ip-rule(8)): to the tables `local`,
    /// `main` and `default`.
    public var isUsual: Bool {
        [0: 255, 32766: 254, 32767: 253][priority] == table
    }
}

extension PolicyRule {
    /// Reads RTM_NEWRULE or RTM_DELRULE; nil for families other than IPv4 and IPv6.
    init?(_ message: NetlinkMessage) {
        guard let (header, attributes) = message.parts(fib_rule_hdr.self) else { return nil }
        switch Int32(header.family) {
        case AF_INET: family = .v4
        case AF_INET6: family = .v6
        default: return nil
        }
        priority = attributes.uint32(FRA_PRIORITY) ?? 0
        table = attributes.uint32(FRA_TABLE) ?? UInt32(header.table)
        // A mark is not among them: nobody has marked a packet that has only just come in.
        let questions = [FRA_IIFNAME, FRA_L3MDEV, FRA_IP_PROTO, FRA_SPORT_RANGE, FRA_DPORT_RANGE]
        looksBeyondDestination =
            header.src_len != 0 || header.tos != 0 || questions.contains { attributes[$0] != nil }
    }
}
