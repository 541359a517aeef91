// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
internal import FanoutCore
internal import Glibc

extension NetworkLink {
    /// Reads RTM_NEWLINK or RTM_DELLINK; nil for messages of a protocol about an interface, such as
    /// a bridge's about its ports, whose RTM_DELLINK does not mean that the interface is gone.
    init?(_ message: NetlinkMessage) {
        guard let (header, attributes) = message.parts(ifinfomsg.self),
            Int32(header.ifi_family) == AF_UNSPEC, header.ifi_index > 0
        else { return nil }
        index = UInt32(header.ifi_index)
        name = attributes.text(IFLA_IFNAME) ?? ""
        kind = attributes.nested(IFLA_LINKINFO)?.text(IFLA_INFO_KIND)
        mac = attributes.mac(IFLA_ADDRESS)
        mtu = attributes.uint32(IFLA_MTU) ?? 0
        isUp = header.ifi_flags & UInt32(IFF_UP) != 0
        hasCarrier = attributes.uint8(IFLA_CARRIER) == 1
        // A veth says 0 while its peer is being deleted.
        peerIndex = attributes.uint32(IFLA_LINK).flatMap { $0 == 0 ? nil : $0 }
        peerNamespace = attributes.int32(IFLA_LINK_NETNSID)
        forwards = attributes.nested(IFLA_AF_SPEC).map(Self.forwards) ?? []
        receiveQueues = attributes.uint32(IFLA_NUM_RX_QUEUES) ?? 0
        transmitQueues = attributes.uint32(IFLA_NUM_TX_QUEUES) ?? 0
        xdpPrograms = attributes.nested(IFLA_XDP).map(Self.programs) ?? []
    }

    /// The first word of either family's settings: IPV4_DEVCONF_FORWARDING (linux/ip.h) and
    /// DEVCONF_FORWARDING (linux/ipv6.h).
    private static func forwards(_ families: Attributes) -> Set<IPAddress.Family> {
        let settings: [(IPAddress.Family, number: Int32, kind: Int)] = [
            (.v4, AF_INET, IFLA_INET_CONF), (.v6, AF_INET6, IFLA_INET6_CONF),
        ]
        return Set(
            settings.filter { _, number, kind in
                let words = families.nested(Int(number))?[kind]
                return words?.read(Int32.self).map { $0 != 0 } ?? false
            }.map(\.0))
    }

    private static func programs(_ attributes: Attributes) -> [XDPProgram] {
        // With one program its number stands under PROG_ID and, since Linux 4.17, under its mode's.
        let modes: [(XDPProgram.Mode, attached: Int, number: Int)] = [
            (.native, XDP_ATTACHED_DRV, IFLA_XDP_DRV_PROG_ID),
            (.generic, XDP_ATTACHED_SKB, IFLA_XDP_SKB_PROG_ID),
            (.offloaded, XDP_ATTACHED_HW, IFLA_XDP_HW_PROG_ID),
        ]
        let attached = attributes.uint8(IFLA_XDP_ATTACHED).map(Int.init)
        return modes.compactMap { mode in
            let only = mode.attached == attached ? attributes.uint32(IFLA_XDP_PROG_ID) : nil
            return (attributes.uint32(mode.number) ?? only).flatMap {
                $0 == 0 ? nil : XDPProgram(mode: mode.0, identifier: $0)
            }
        }
    }
}
