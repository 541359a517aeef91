// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
internal import Glibc

/// The link layer at one moment: interfaces and the hosts behind them. For planes that build frames themselves.
package struct LinkLayer: Equatable, Sendable {
    /// An interface as a sender of frames sees it.
    package struct Device: Equatable, Sendable {
        package var name: String
        /// 6 bytes; nil for links without such addresses.
        package var mac: [UInt8]?
        package var mtu: UInt32
        package var isUp: Bool
        /// Queues in use; at least 1.
        package var receiveQueues: UInt32
        package var transmitQueues: UInt32
    }

    /// A host on the link of an interface.
    package struct Hop: Hashable, Sendable {
        package let interface: UInt32
        package let address: IPAddress

        package init(interface: UInt32, address: IPAddress) {
            self.interface = interface
            self.address = address
        }
    }

    /// The interfaces by index.
    package var devices: [UInt32: Device] = [:]
    /// The link-layer address, 6 bytes, of each resolved next hop.
    package var hops: [Hop: [UInt8]] = [:]

    package init() {}

    /// Reads it from the kernel.
    ///
    /// - Parameters:
    ///   - paths: the paths whose next hops are needed.
    ///   - queues: returns the number of queues that an interface uses, to receive and to transmit; nil when its driver
    ///     does not report it, and then the allocated queues count.
    package static func ask(
        _ netlink: inout Netlink, paths: some Collection<ReceiverPath>,
        queues: (String) -> (receive: UInt32, transmit: UInt32)?
    ) throws(NetlinkError) -> LinkLayer {
        var result = LinkLayer()
        for link in try netlink.links() {
            let used = queues(link.name) ?? (link.receiveQueues, link.transmitQueues)
            result.devices[link.index] = Device(
                name: link.name, mac: link.mac?.bytes, mtu: link.mtu, isUp: link.isUp,
                receiveQueues: max(1, used.receive), transmitQueues: max(1, used.transmit))
        }
        for hop in Set(paths.compactMap(\.hop)) {
            guard let known = try netlink.neighbour(of: hop.address, on: hop.interface),
                known.isResolved, let mac = known.mac
            else { continue }
            result.hops[hop] = mac.bytes
        }
        return result
    }

    /// Makes the kernel resolve these hosts, or confirm that they are alive. The kernel sees none of the frames:
    /// without this it would consider an idle host gone, or keep a wrong address for ever.
    package static func use(_ hops: some Sequence<Hop>, _ netlink: inout Netlink) {
        // An error here needs no handling: the next round comes soon.
        for hop in hops { try? netlink.use(hop.address, on: hop.interface) }
    }
}

extension ReceiverPath {
    /// The next hop; nil when only the kernel knows it.
    package var hop: LinkLayer.Hop? {
        switch self {
        case .stack, .forwarding, .routes: nil
        case .neighbour(let interface, let nextHop, _), .peer(let interface, let nextHop, _, _):
            LinkLayer.Hop(interface: interface, address: nextHop)
        }
    }

    /// The MTU of the path in bytes; nil when only the kernel knows it.
    package var mtu: UInt32? {
        switch self {
        case .stack, .forwarding, .routes: nil
        case .neighbour(_, _, let mtu), .peer(_, _, _, let mtu): mtu
        }
    }
}
