// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
internal import Glibc

/// What lies below the network, at one moment: the devices, and who is behind them. For a plane that makes
/// frames itself.
package struct LinkLayer: Equatable, Sendable {
    /// An interface as a link-layer sender sees it.
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

    /// By number.
    package var devices: [UInt32: Device] = [:]
    /// The link-layer address, 6 bytes, of each next hop that is known.
    package var hops: [Hop: [UInt8]] = [:]

    package init() {}

    /// Asks the kernel.
    ///
    /// - Parameters:
    ///   - paths: the ways whose next hops matter.
    ///   - queues: how many queues an interface has in use, to receive and to transmit; nil when its driver
    ///     does not say, and then as many as were allocated count.
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

    /// Has the kernel find out about each of these hosts, or make sure that they are still there. Without
    /// it the kernel, which sees none of the frames, would take an idle host for gone, or keep a wrong
    /// address for ever.
    package static func use(_ hops: some Sequence<Hop>, _ netlink: inout Netlink) {
        // What cannot be asked for now has no answer either, and the next round comes soon.
        for hop in hops { try? netlink.use(hop.address, on: hop.interface) }
    }
}

extension ReceiverPath {
    /// The next hop; nil when the kernel alone knows it.
    package var hop: LinkLayer.Hop? {
        switch self {
        case .stack, .forwarding, .routes: nil
        case .neighbour(let interface, let nextHop, _), .peer(let interface, let nextHop, _, _):
            LinkLayer.Hop(interface: interface, address: nextHop)
        }
    }

    /// Bytes of the longest IP packet on the way; nil when the kernel alone knows it.
    package var mtu: UInt32? {
        switch self {
        case .stack, .forwarding, .routes: nil
        case .neighbour(_, _, let mtu), .peer(_, _, _, let mtu): mtu
        }
    }
}
