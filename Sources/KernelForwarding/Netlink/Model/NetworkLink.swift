// SPDX-License-Identifier: Apache-2.0

internal import CLibMNL
public import FanoutCore
internal import Glibc

/// A network interface, as RTM_NEWLINK describes it (rtnetlink(7), linux/if_link.h).
public struct NetworkLink: Hashable, Sendable {
    /// Above 0. A new interface may reuse the index of a deleted one.
    public let index: UInt32
    public let name: String
    /// The type for `ip link add type`: `veth`, `vlan`, `bridge`; nil for hardware and the loopback.
    public let kind: String?
    /// nil for links without 48-bit addresses; all zeros for the loopback.
    public let mac: MACAddress?
    /// The MTU in bytes.
    public let mtu: UInt32
    /// Set up by the administrator (IFF_UP).
    public let isUp: Bool
    /// Whether the link has a carrier; for a veth, whether the peer is up.
    public let hasCarrier: Bool
    /// A veth's peer, or the lower interface of a vlan or macvlan; nil for others.
    public let peerIndex: UInt32?
    /// The id of the peer's namespace in this one (ip-netns(8), `nsid`), -1 when it has none; nil when the peer is in
    /// this namespace.
    public let peerNamespace: Int32?
    /// The families whose packets the kernel forwards when they arrive here (`net.ipv4.conf.NAME.forwarding`,
    /// `net.ipv6.conf.NAME.forwarding`).
    public let forwards: Set<IPAddress.Family>
    /// Queues that the driver allocated; it may use fewer (ethtool(8) `-L`).
    public let receiveQueues: UInt32
    public let transmitQueues: UInt32
    /// The attached XDP programs, at most one for each mode.
    public let xdpPrograms: [XDPProgram]

    /// Whether `peerIndex` belongs to another namespace, and so has no meaning here.
    public var isPeerElsewhere: Bool { peerNamespace != nil }

    /// An XDP program on an interface.
    public struct XDPProgram: Hashable, Sendable {
        public enum Mode: String, Hashable, Sendable {
            /// In the driver.
            case native
            /// On socket buffers: works on every interface, but slower.
            case generic
            /// In the network card.
            case offloaded
        }
        public let mode: Mode
        /// The program's id, as in `bpftool prog show` and BPF_PROG_GET_FD_BY_ID.
        public let identifier: UInt32
    }
}

extension NetworkLink {
    /// Reads RTM_NEWLINK or RTM_DELLINK; nil for a protocol's message about an interface, such as a bridge's about its
    /// ports, whose RTM_DELLINK does not mean that the interface is gone.
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
        // A veth reports 0 while its peer is being deleted.
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
        // The id of a single program is in PROG_ID and, since Linux 4.17, also in its mode's attribute.
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

/// A 48-bit link-layer address (IEEE 802).
public struct MACAddress: Hashable, Sendable, CustomStringConvertible {
    /// 6 bytes, in the order of transmission.
    public let bytes: [UInt8]

    /// - Parameter bytes: must be 6; the result is nil for any other count.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 6 else { return nil }
        self.bytes = bytes
    }

    /// Six pairs of hexadecimal digits: `02:00:00:00:00:0a`.
    public var description: String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
    }
}

/// An address of an interface, as RTM_NEWADDR describes it (rtnetlink(7)).
public struct InterfaceAddress: Hashable, Sendable {
    /// The interface's index.
    public let interface: UInt32
    /// The local address of a point-to-point link. Without a zone: a link-local address is on `interface`.
    public let address: IPAddress
    /// The prefix length, 0...32 or 0...128.
    public let prefixLength: UInt8
    public let scope: Scope
    /// Whether the kernel does not use the IPv6 address yet: duplicate address detection is running or has failed
    /// (RFC 4862, section 5.4).
    public let isTentative: Bool

    /// The scope of an address (RT_SCOPE_*, linux/rtnetlink.h).
    public enum Scope: Hashable, Sendable {
        case global, site, link, host, nowhere
        /// Defined by the administrator.
        case other(UInt8)

        init(_ number: UInt8) {
            self =
                switch number {
                case 0: .global
                case 200: .site
                case 253: .link
                case 254: .host
                case 255: .nowhere
                default: .other(number)
                }
        }
    }
}

extension InterfaceAddress {
    /// Reads RTM_NEWADDR or RTM_DELADDR.
    init?(_ message: NetlinkMessage) {
        guard let (header, attributes) = message.parts(ifaddrmsg.self),
            // With a peer, IFA_ADDRESS is the peer's; without one, IPv6 omits IFA_LOCAL.
            let address = attributes.address(IFA_LOCAL) ?? attributes.address(IFA_ADDRESS)
        else { return nil }
        interface = header.ifa_index
        self.address = address
        prefixLength = header.ifa_prefixlen
        scope = Scope(header.ifa_scope)
        isTentative = Int32(header.ifa_flags) & (IFA_F_TENTATIVE | IFA_F_DADFAILED) != 0
    }
}
