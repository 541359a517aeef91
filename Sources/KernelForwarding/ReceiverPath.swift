// SPDX-License-Identifier: Apache-2.0

package import CDatapath
package import FanoutCore

/// The path to a receiver: what the program does with a packet that has been rewritten for it.
package enum ReceiverPath: Equatable, Sendable {
    /// Up the stack: the receiver is on this host.
    case stack
    /// Up the stack, which forwards it: out of a link without addresses, such as a tunnel.
    case forwarding
    /// By a route lookup for each packet: there is more than one next hop, or none is known.
    case routes
    /// Out of an interface to the next hop, whose link-layer address the kernel resolves.
    case neighbour(interface: UInt32, nextHop: IPAddress, mtu: UInt32)
    /// Straight to the peer of a veth, in another namespace of this host.
    case peer(interface: UInt32, nextHop: IPAddress, mac: [UInt8], mtu: UInt32)

    /// The output interface, when it is always the same.
    package var interface: UInt32? {
        switch self {
        case .neighbour(let interface, _, _), .peer(let interface, _, _, _): interface
        case .stack, .forwarding, .routes: nil
        }
    }

    /// The receiver in the kernel program's format.
    package func receiver(_ endpoint: Endpoint, row: UInt32) -> lb_receiver {
        var result = lb_receiver()
        result.address = endpoint.address.datapath
        result.next_hop = endpoint.address.datapath
        result.port = endpoint.port
        result.row = row
        result.is_v6 = endpoint.address.family == .v6 ? 1 : 0
        if self != .stack { result.flags = UInt8(LB_RECEIVER_REMOTE) }
        switch self {
        case .stack, .forwarding: result.path = UInt8(LB_PATH_STACK.rawValue)
        case .routes: result.path = UInt8(LB_PATH_FIB.rawValue)
        case .neighbour(let interface, let nextHop, let mtu):
            result.path = UInt8(LB_PATH_NEIGH.rawValue)
            result.next_hop = nextHop.datapath
            (result.ifindex, result.mtu) = (interface, mtu)
        case .peer(let interface, _, let mac, let mtu):
            result.path = UInt8(LB_PATH_PEER.rawValue)
            (result.ifindex, result.mtu) = (interface, mtu)
            if mac.count == 6 { result.mac = (mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]) }
        }
        return result
    }
}
