// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// A network interface, as RTM_NEWLINK describes it (rtnetlink(7), linux/if_link.h).
public struct NetworkLink: Hashable, Sendable {
    /// Above 0; a deleted interface's index may come back with another interface.
    public let index: UInt32
    public let name: String
    /// What `ip link add type` calls it: `veth`, `vlan`, `bridge`; nil for hardware and the
    /// loopback.
    public let kind: String?
    /// nil for links without 48-bit addresses; all zeros for the loopback.
    public let mac: MACAddress?
    /// The longest IP packet, in bytes.
    public let mtu: UInt32
    /// Set up by the administrator (IFF_UP).
    public let isUp: Bool
    /// Whether there is someone at the other end of the wire; for veth, whether the peer is up.
    public let hasCarrier: Bool
    /// A veth's peer, or the interface that a vlan or macvlan is on; nil for those that have none.
    public let peerIndex: UInt32?
    /// The number by which this namespace knows the peer's (ip-netns(8), `nsid`), -1 when it has
    /// none; nil when the peer is in this namespace.
    public let peerNamespace: Int32?
    /// The families of which packets that come in here are sent on (`net.ipv4.conf.NAME.forwarding`,
    /// `net.ipv6.conf.NAME.forwarding`).
    public let forwards: Set<IPAddress.Family>
    /// Queues that the driver allocated; ethtool(8) `-L` may have it use fewer.
    public let receiveQueues: UInt32
    public let transmitQueues: UInt32
    /// The XDP programs attached to it, one for each mode; most often none or one.
    public let xdpPrograms: [XDPProgram]

    /// Whether `peerIndex` counts in another namespace, so that it says nothing here.
    public var isPeerElsewhere: Bool { peerNamespace != nil }

    /// An XDP program on an interface.
    public struct XDPProgram: Hashable, Sendable {
        public enum Mode: String, Hashable, Sendable {
            /// In the driver.
            case native
            /// On socket buffers; works on every interface, and slower.
            case generic
            /// In the network card.
            case offloaded
        }
        public let mode: Mode
        /// What `bpftool prog show` calls it, and BPF_PROG_GET_FD_BY_ID.
        public let identifier: UInt32
    }
}
