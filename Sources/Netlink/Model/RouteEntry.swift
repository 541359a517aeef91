// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
public import FanoutCore
internal import Glibc

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
