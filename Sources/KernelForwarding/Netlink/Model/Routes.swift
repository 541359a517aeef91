// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
public import FanoutCore
internal import Glibc

/// Where the kernel would send a packet: the answer to one lookup, policy rules and all.
public struct Route: Hashable, Sendable {
    public let destination: IPAddress
    /// What becomes of the packet; it is sent nowhere unless this is `unicast` or a kind of
    /// multicast.
    public let kind: RouteKind
    /// The interface that it leaves by; nil when it is dropped. For `local` most often the
    /// loopback's.
    public let interface: UInt32?
    /// The router that it goes to, which may be IPv6 for an IPv4 destination (RFC 5549); nil when
    /// the destination is on the link. Without a zone: a link-local gateway is on `interface`.
    public let gateway: IPAddress?
    /// The source address of packets that this host sends there; nil in a lookup for a packet that
    /// arrives from elsewhere.
    public let source: IPAddress?
    /// The route's own limit, or what path MTU discovery found out, in bytes; nil: the interface's.
    public let mtu: UInt32?
    /// The route has more than one next hop, so that packets of other flows may go elsewhere than
    /// this answer says.
    public let isMultipath: Bool

    /// The gateway, or else the destination itself: whose MAC address the packet gets.
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

/// What becomes of a packet that meets a route (RTN_*, rtnetlink(7)).
public enum RouteKind: Hashable, Sendable {
    /// It goes to the next hop.
    case unicast
    /// It is for this host.
    case local
    case broadcast, anycast, multicast
    /// It is dropped without a word.
    case blackhole
    /// It is dropped, and the sender gets ICMP host unreachable.
    case unreachable
    /// It is dropped, and the sender gets ICMP administratively prohibited.
    case prohibit
    /// The search goes on in the next table.
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

    /// The route that a lookup ended at when it fails with this errno (`fib_props`,
    /// net/ipv4/fib_semantics.c); nil when that is not clear from it.
    init?(refusal errno: Int32) {
        switch errno {
        case EHOSTUNREACH: self = .unreachable
        case EACCES: self = .prohibit
        default: return nil
        }
    }
}

/// A line of a routing table, as RTM_NEWROUTE describes it (rtnetlink(7)).
public struct RouteEntry: Hashable, Sendable {
    /// The network; `0.0.0.0` or `::` with a prefix of 0 bits is the default route.
    public let destination: IPAddress
    /// 0...32 or 0...128.
    public let prefixLength: UInt8
    /// 254 is the main table, 255 that of this host's own addresses.
    public let table: UInt32
    public let kind: RouteKind
    /// Of several lines for one network the lowest counts.
    public let priority: UInt32
    /// nil for several next hops and for those that drop.
    public let interface: UInt32?
    /// nil for several next hops, and when the network is on the link.
    public let gateway: IPAddress?
    public let isMultipath: Bool
}

extension RouteEntry {
    /// Reads RTM_NEWROUTE or RTM_DELROUTE; nil for other families and for what the kernel keeps of
    /// single lookups.
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

    /// Of the destination's family, or of the other one behind its number (`rtvia`).
    var gateway: IPAddress? {
        address(.gateway)
            ?? self[RouteAttribute.via.number].flatMap { IPAddress(network: $0.dropFirst(2)) }
    }

    /// How many next hops RTA_MULTIPATH lists; each is a `rtnexthop` with its length in front.
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
        // A mark is not among them: a packet that has just arrived has none.
        let questions = [FRA_IIFNAME, FRA_L3MDEV, FRA_IP_PROTO, FRA_SPORT_RANGE, FRA_DPORT_RANGE]
        looksBeyondDestination =
            header.src_len != 0 || header.tos != 0 || questions.contains { attributes[$0] != nil }
    }
}
