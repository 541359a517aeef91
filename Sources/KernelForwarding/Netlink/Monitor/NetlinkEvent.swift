// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL

/// Something about the network that is not as it was.
///
/// An event is a hint to look: by the time it arrives the kernel may be further on. Not everything
/// has an event of its own: IPv4 routes that go because their interface goes down go without one, so
/// routes must be looked up again after events of links too. A route over nexthop
/// objects (ip-nexthop(8)) has its event when the object changes unless
/// `net.ipv4.nexthop_compat_mode` is 0.
public enum NetlinkEvent: Equatable, Sendable {
    /// An interface was made, changed (up, down, carrier, name, MTU, address, XDP program), deleted
    /// or moved to another namespace.
    case link(NetworkLink, Presence)
    case address(InterfaceAddress, Presence)
    case route(RouteEntry, Presence)
    case neighbour(Neighbour, Presence)
    case rule(PolicyRule, Presence)
    /// Packets are forwarded, or are no more, or another of such settings is another one (netconf in rtnetlink(7)):
    /// of an interface or of all.
    case setting
    /// The driver of an interface can do more, or less, with frames of XDP (`Netdev`): a veth when its other end gets or
    /// loses GRO or an XDP program, others when they get or lose one. No event of the link tells of it.
    case features
    /// Events were lost, because more came than were read: read everything anew. Whatever changes
    /// after this event has its own.
    case resynchronise
    /// The last event there is: the socket can no longer be read.
    case failed(NetlinkError)

    public enum Presence: Equatable, Sendable {
        /// New or changed; what is given is how it is now.
        case present
        /// What is given is how it was.
        case gone
    }

    /// What events can be about.
    public enum Topic: CaseIterable, Hashable, Sendable {
        case links, addresses, routes, neighbours, rules, settings

        /// The bits of its groups, IPv4 and IPv6, as bind(2) takes them.
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

    /// Reads a notification; nil for one that is about none of these.
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
