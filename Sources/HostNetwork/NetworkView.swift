// SPDX-License-Identifier: Apache-2.0

package import FanoutCore
internal import Glibc
package import Netlink

/// The host's network as far as a plane looks at it, at one moment.
package struct NetworkView: Equatable, Sendable {
    /// By number.
    package var interfaces: [HostInterface]
    /// The way to each receiver that was asked about.
    package var paths: [IPAddress: ReceiverPath] = [:]
    /// Receivers that the kernel has no route to.
    package var routeless: Set<IPAddress> = []
    /// Receivers on other hosts that only the kernel's forwarding reaches.
    package var forwarded: Set<IPAddress> = []

    package init(interfaces: [HostInterface]) { self.interfaces = interfaces }

    package func interface(named name: String?) -> HostInterface? {
        interfaces.first { $0.name == name }
    }

    /// Calls an interface that was renamed by the name under which it was hooked, unless another has
    /// taken that name.
    ///
    /// - Parameter known: the numbers of hooked interfaces by the names in the configuration.
    package mutating func follow(_ known: [String: UInt32]) {
        for (name, index) in known where interface(named: name) == nil {
            guard let place = interfaces.firstIndex(where: { $0.index == index }) else { continue }
            interfaces[place].name = name
        }
    }

    /// Asks the kernel.
    ///
    /// - Parameter names: interfaces whose addresses matter.
    package static func ask(
        _ netlink: inout Netlink, names: Set<String>, known: [String: UInt32],
        receivers: Set<IPAddress>
    ) throws(NetlinkError) -> NetworkView {
        let links = try netlink.links()
        var view = NetworkView(
            interfaces: links.map {
                HostInterface(
                    index: $0.index, name: $0.name, forwards: forwards($0, among: links),
                    kind: $0.kind)
            })
        view.follow(known)
        for place in view.interfaces.indices where names.contains(view.interfaces[place].name) {
            view.interfaces[place].addresses = try addresses(
                of: view.interfaces[place].index, &netlink)
        }
        let byIndex = Dictionary(links.map { ($0.index, $0) }) { first, _ in first }
        for receiver in receivers {
            guard let route = try netlink.route(to: receiver) else {
                view.routeless.insert(receiver)
                view.paths[receiver] = .routes
                continue
            }
            let path = try path(by: route, among: byIndex, &netlink)
            view.paths[receiver] = path
            if path == .routes || path == .forwarding { view.forwarded.insert(receiver) }
        }
        return view
    }

    /// Of IPv6 it is the host that forwards, whatever the interface's setting says: ip6_forward in
    /// net/ipv6/ip6_output.c. The loopback's setting follows the host's.
    private static func forwards(
        _ link: NetworkLink, among links: [NetworkLink]
    ) -> Set<IPAddress.Family> {
        let host = links.first { $0.index == 1 }?.forwards ?? []
        return link.forwards.intersection([.v4]).union(host.intersection([.v6]))
    }

    private static func addresses(
        of interface: UInt32, _ netlink: inout Netlink
    ) throws(NetlinkError) -> [IPAddress] {
        do throws(NetlinkError) {
            return try netlink.addresses(of: interface).filter { !$0.isTentative }.map(\.address)
        } catch {
            // It went in the meantime, and there will be an event that says so.
            guard error.errno == ENODEV else { throw error }
            return []
        }
    }

    private static func path(
        by route: Route, among links: [UInt32: NetworkLink], _ netlink: inout Netlink
    ) throws(NetlinkError) -> ReceiverPath {
        // The kernel's own decision: for this host, or for many.
        if [.local, .broadcast, .anycast, .multicast].contains(route.kind) { return .stack }
        guard route.kind == .unicast, !route.isMultipath, let interface = route.interface,
            let link = links[interface]
        else { return .routes }
        // Links without addresses of their own, such as tunnels, are the stack's business.
        guard link.mac != nil else { return .forwarding }
        let mtu = route.mtu ?? link.mtu
        if link.kind == "veth", link.isPeerElsewhere,
            let neighbour = try netlink.neighbour(of: route.nextHop, on: interface),
            neighbour.isResolved, let mac = neighbour.mac
        {
            return .peer(
                interface: interface, nextHop: route.nextHop, mac: mac.bytes, mtu: mtu)
        }
        return .neighbour(interface: interface, nextHop: route.nextHop, mtu: mtu)
    }
}
