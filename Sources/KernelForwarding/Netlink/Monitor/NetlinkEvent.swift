// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL

/// A change of the network.
///
/// An event is a hint to read again: the kernel may have changed more when it arrives. Not every change has an event:
/// IPv4 routes that vanish because their interface goes down have none, so routes must be looked up again after link
/// events, too. A route over nexthop objects (ip-nexthop(8)) has an event when the object changes unless
/// `net.ipv4.nexthop_compat_mode` is 0.
public enum NetlinkEvent: Equatable, Sendable {
    /// An interface was added, changed (up, down, carrier, name, MTU, address, XDP program), deleted or moved to
    /// another namespace.
    case link(NetworkLink, Presence)
    case address(InterfaceAddress, Presence)
    case route(RouteEntry, Presence)
    case neighbour(Neighbour, Presence)
    case rule(PolicyRule, Presence)
    /// The forwarding or a similar setting of an interface or of all has changed (netconf in rtnetlink(7)).
    case setting
    /// The XDP features of a driver have changed (`Netdev`): of a veth when its peer gets or loses GRO or an XDP
    /// program, of others when they get or lose one. There is no link event for that.
    case features
    /// Events were lost, because more came than were read: read everything again. Every later change has an event.
    case resynchronise
    /// The last event: the socket can no longer be read.
    case failed(NetlinkError)

    public enum Presence: Equatable, Sendable {
        /// New or changed; the value is the current one.
        case present
        /// Removed; the value is the previous one.
        case gone
    }

    /// The subjects of events.
    public enum Topic: CaseIterable, Hashable, Sendable {
        case links, addresses, routes, neighbours, rules, settings

        /// The bits of its multicast groups, IPv4 and IPv6, for bind(2).
        var groups: UInt32 {
            let groups: [rtnetlink_groups] =
                switch self {
                case .links: [RTNLGRP_LINK]
                case .addresses: [RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR]
                case .routes: [RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE]
                case .neighbours: [RTNLGRP_NEIGH]
                case .rules: [RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE]
                case .settings: [RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF]
                }
            return groups.reduce(0) { $0 | 1 << ($1.rawValue - 1) }
        }
    }

    /// Reads a notification; nil for other subjects.
    init?(_ message: NetlinkMessage) {
        let event: NetlinkEvent? =
            switch Int(message.type) {
            case RTM_NEWLINK: NetworkLink(message).map { .link($0, .present) }
            case RTM_DELLINK: NetworkLink(message).map { .link($0, .gone) }
            case RTM_NEWADDR: InterfaceAddress(message).map { .address($0, .present) }
            case RTM_DELADDR: InterfaceAddress(message).map { .address($0, .gone) }
            case RTM_NEWROUTE: RouteEntry(message).map { .route($0, .present) }
            case RTM_DELROUTE: RouteEntry(message).map { .route($0, .gone) }
            case RTM_NEWNEIGH: Neighbour(message).map { .neighbour($0, .present) }
            case RTM_DELNEIGH: Neighbour(message).map { .neighbour($0, .gone) }
            case RTM_NEWRULE: PolicyRule(message).map { .rule($0, .present) }
            case RTM_DELRULE: PolicyRule(message).map { .rule($0, .gone) }
            case RTM_NEWNETCONF: .setting
            case Int(NLMSG_OVERRUN): .resynchronise
            default: nil
            }
        guard let event else { return nil }
        self = event
    }
}
