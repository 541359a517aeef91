// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
public import FanoutCore
internal import Glibc

/// The result of one route lookup, with policy rules.
public struct Route: Hashable, Sendable {
    public let destination: IPAddress
    /// The fate of the packet; it is sent only if this is `unicast` or a kind of multicast.
    public let kind: RouteKind
    /// The output interface; nil when the packet is dropped. For `local` usually the loopback.
    public let interface: UInt32?
    /// The router, which may be IPv6 for an IPv4 destination (RFC 5549); nil when the destination is on the link.
    /// Without a zone: a link-local gateway is on `interface`.
    public let gateway: IPAddress?
    /// The source address of packets that this host sends there; nil in a lookup for a packet that this host
    /// forwards.
    public let source: IPAddress?
    /// The MTU of the route, or of path MTU discovery, in bytes; nil: the interface's.
    public let mtu: UInt32?
    /// Whether the route has several next hops, so that packets of other flows may take another one.
    public let isMultipath: Bool

    /// The gateway, or else the destination itself: the host whose MAC address the packet gets.
    public var nextHop: IPAddress { gateway ?? destination }
}

extension Route {
    init(
        to destination: IPAddress, kind: RouteKind, by message: NetlinkMessage? = nil,
        isMultipath: Bool = false
    ) {
        let attributes = message?.parts(rtmsg.self)?.1
        self.destination = destination
        self.kind = kind
        let isDropped = [.blackhole, .unreachable, .prohibit, .throwing].contains(kind)
        interface = isDropped ? nil : attributes?.uint32(.interface)
        gateway = attributes?.gateway
        source = isDropped ? nil : attributes?.address(.preferredSource)
        mtu = attributes?.nested(.metrics)?.uint32(RTAX_MTU)
        self.isMultipath = isMultipath
    }
}

/// The type of a route, which is the fate of its packets (RTN_*, rtnetlink(7)).
public enum RouteKind: Hashable, Sendable {
    /// It goes to the next hop.
    case unicast
    /// It is for this host.
    case local
    case broadcast, anycast, multicast
    /// It is dropped silently.
    case blackhole
    /// It is dropped, and the sender gets ICMP host unreachable.
    case unreachable
    /// It is dropped, and the sender gets ICMP administratively prohibited.
    case prohibit
    /// The lookup continues in the next table.
    case throwing
    case other(UInt8)

    init(_ number: UInt8) {
        self =
            switch Int(number) {
            case RTN_UNICAST: .unicast
            case RTN_LOCAL: .local
            case RTN_BROADCAST: .broadcast
            case RTN_ANYCAST: .anycast
            case RTN_MULTICAST: .multicast
            case RTN_BLACKHOLE: .blackhole
            case RTN_UNREACHABLE: .unreachable
            case RTN_PROHIBIT: .prohibit
            case RTN_THROW: .throwing
            default: .other(number)
            }
    }

    /// The type of route at which a lookup fails with this errno (`fib_props`, net/ipv4/fib_semantics.c); nil when the
    /// errno is ambiguous.
    init?(refusal errno: Int32) {
        switch errno {
        case EHOSTUNREACH: self = .unreachable
        case EACCES: self = .prohibit
        default: return nil
        }
    }
}

/// An entry of a routing table, as RTM_NEWROUTE describes it (rtnetlink(7)).
public struct RouteEntry: Hashable, Sendable {
    /// The network; `0.0.0.0` or `::` with a prefix of 0 bits is the default route.
    public let destination: IPAddress
    /// 0...32 or 0...128.
    public let prefixLength: UInt8
    /// 254 is the main table, 255 the table of local addresses.
    public let table: UInt32
    public let kind: RouteKind
    /// The metric: of several entries for one network the lowest wins.
    public let priority: UInt32
    /// nil for several next hops and for routes that drop.
    public let interface: UInt32?
    /// nil for several next hops, and when the network is on the link.
    public let gateway: IPAddress?
    public let isMultipath: Bool
}

extension RouteEntry {
    /// Reads RTM_NEWROUTE or RTM_DELROUTE; nil for other families and for cached entries of the kernel.
    init?(_ message: NetlinkMessage) {
        guard let (header, attributes) = message.parts(rtmsg.self),
            [AF_INET, AF_INET6].contains(Int32(header.rtm_family)),
            header.rtm_flags & UInt32(RTM_F_CLONED) == 0
        else { return nil }
        let any =
            Int32(header.rtm_family) == AF_INET ? IPAddress(v4: 0) : IPAddress(high: 0, low: 0)
        destination = attributes.address(.destination) ?? any
        prefixLength = header.rtm_dst_len
        table = attributes.uint32(.table) ?? UInt32(header.rtm_table)
        kind = RouteKind(header.rtm_type)
        priority = attributes.uint32(.priority) ?? 0
        interface = attributes.uint32(.interface)
        gateway = attributes.gateway
        isMultipath = attributes.hops > 1
    }
}

/// The attributes of RTM_NEWROUTE.
enum RouteAttribute {
    case destination, source, arrival, interface, gateway, via, priority, preferredSource, metrics
    case multipath, table

    var number: Int {
        let type =
            switch self {
            case .destination: RTA_DST
            case .source: RTA_SRC
            case .arrival: RTA_IIF
            case .interface: RTA_OIF
            case .gateway: RTA_GATEWAY
            case .via: RTA_VIA
            case .priority: RTA_PRIORITY
            case .preferredSource: RTA_PREFSRC
            case .metrics: RTA_METRICS
            case .multipath: RTA_MULTIPATH
            case .table: RTA_TABLE
            }
        return Int(type.rawValue)
    }
}

extension Attributes {
    func uint32(_ type: RouteAttribute) -> UInt32? { uint32(type.number) }
    func address(_ type: RouteAttribute) -> IPAddress? { address(type.number) }
    func nested(_ type: RouteAttribute) -> Attributes? { nested(type.number) }

    /// An address of the destination's family, or of the other one after its number (`rtvia`).
    var gateway: IPAddress? {
        address(.gateway)
            ?? self[RouteAttribute.via.number].flatMap { IPAddress(network: $0.dropFirst(2)) }
    }

    /// The number of next hops in RTA_MULTIPATH; each is a `rtnexthop` that starts with its length.
    var hops: Int {
        guard let list = self[RouteAttribute.multipath.number] else { return 0 }
        var place = 0
        var count = 0
        while let hop = list.read(rtnexthop.self, at: place),
            Int(hop.rtnh_len) >= MemoryLayout<rtnexthop>.size
        {
            count += 1
            place += (Int(hop.rtnh_len) + 3) & ~3
        }
        return count
    }
}

/// A rule that selects the routing table (ip-rule(8)), with the fields that matter for repeating lookups.
public struct PolicyRule: Hashable, Sendable {
    public let family: IPAddress.Family
    /// The priority; the lowest is tried first.
    public let priority: UInt32
    /// The table that it selects; 0 for rules without a table.
    public let table: UInt32
    /// Whether it matches more than the destination: source, input interface, ports or type of service. Then two
    /// packets to one host may take different paths.
    public let looksBeyondDestination: Bool

    /// Whether it is one of the default rules of every network (ip-rule(8)): to the tables `local`, `main` and
    /// `default`.
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
        // Without the mark: a packet that has just arrived has none.
        let questions = [FRA_IIFNAME, FRA_L3MDEV, FRA_IP_PROTO, FRA_SPORT_RANGE, FRA_DPORT_RANGE]
        looksBeyondDestination =
            header.src_len != 0 || header.tos != 0 || questions.contains { attributes[$0] != nil }
    }
}
