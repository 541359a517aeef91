// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
public import FanoutCore

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
