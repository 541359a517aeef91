// SPDX-License-Identifier: Apache-2.0

package import FanoutCore

/// The part of the host's network that a plane uses, at one moment.
package struct NetworkView: Equatable, Sendable {
    /// The interfaces by index.
    package var interfaces: [HostInterface]
    /// The path to each requested receiver.
    package var paths: [IPAddress: ReceiverPath] = [:]
    /// Receivers without a route.
    package var routeless: Set<IPAddress> = []
    /// Receivers on other hosts that need the kernel's forwarding.
    package var forwarded: Set<IPAddress> = []
    /// Receivers behind a link without a carrier: packets to them are lost.
    package var unplugged: Set<IPAddress> = []

    /// For planes that build frames themselves.
    package var links = LinkLayer()

    package init(interfaces: [HostInterface]) { self.interfaces = interfaces }

    package func interface(named name: String?) -> HostInterface? {
        interfaces.first { $0.name == name }
    }

    /// Whether a receiver is on this host, by one of its addresses or by a route of type `local`.
    package func isLocal(_ receiver: IPAddress) -> Bool {
        paths[receiver] == .stack && !forwarded.contains(receiver)
    }

    /// Gives a renamed interface the name under which it was hooked, unless another interface has that name now.
    ///
    /// - Parameter known: the indexes of hooked interfaces by their configured names.
    package mutating func follow(_ known: [String: UInt32]) {
        for (name, index) in known where interface(named: name) == nil {
            guard let place = interfaces.firstIndex(where: { $0.index == index }) else { continue }
            interfaces[place].name = name
        }
    }

    /// Reads it from the kernel.
    ///
    /// - Parameters:
    ///   - names: interfaces whose addresses are needed; nil: all of them.
    ///   - mindsRules: whether a path is `.routes` where policy rules (ip-rule(8)) may send two packets to one
    ///     receiver on different paths. A lookup for a packet needs forwarding on its input interface; without it
    ///     rules are ignored.
    ///   - memory: the shared cache of paths.
    ///   - since: the maximum age of cached paths.
    package static func ask(
        _ netlink: inout Netlink, names: Set<String>?, known: [String: UInt32],
        receivers: Set<IPAddress>, mindsRules: Bool = false,
        memory: PathMemory = PathMemory(), since: PathMemory.Instant = .now
    ) throws(NetlinkError) -> NetworkView {
        let moment = PathMemory.Instant.now
        let links = try netlink.links()
        var view = NetworkView(
            interfaces: links.map { link in
                var interface = HostInterface(
                    index: link.index, name: link.name, forwards: forwards(link, among: links),
                    kind: link.kind)
                interface.mac = link.mac?.bytes
                interface.isUp = link.isUp
                interface.hasCarrier = link.hasCarrier
                return interface
            })
        view.follow(known)
        let rules = mindsRules ? try netlink.rules().filter(\.looksBeyondDestination) : []
        let served = view.interfaces.filter { names?.contains($0.name) ?? true }
        let ruled = Set(rules.map(\.family))
            .filter { family in served.allSatisfy { $0.forwards.contains(family) } }
        let addresses = served.isEmpty ? [:] : try addresses(&netlink)
        for place in view.interfaces.indices
        where names?.contains(view.interfaces[place].name) ?? true {
            view.interfaces[place].addresses = addresses[view.interfaces[place].index] ?? []
        }
        let byIndex = Dictionary(links.map { ($0.index, $0) }) { first, _ in first }
        let paths = try memory.paths(to: receivers, since: since, asking: moment) {
            some throws(NetlinkError) in
            var paths: [ReceiverPath?] = []
            for route in try netlink.routes(to: some) {
                paths.append(try path(by: route, among: byIndex, &netlink))
            }
            return paths
        }
        view.paths.reserveCapacity(paths.count)
        for (receiver, path) in paths {
            view.add(
                receiver, by: path, among: byIndex, isRuled: ruled.contains(receiver.family))
        }
        return view
    }

    /// Records the path to a receiver.
    ///
    /// - Parameter isRuled: whether another packet may take another path.
    private mutating func add(
        _ receiver: IPAddress, by path: ReceiverPath?, among links: [UInt32: NetworkLink],
        isRuled: Bool
    ) {
        var isOpen = false
        switch path {
        case .neighbour(let interface, _, _) where !isRuled,
            .peer(let interface, _, _, _) where !isRuled:
            if links[interface]?.hasCarrier == false { unplugged.insert(receiver) }
        case .stack: break
        case nil where !isRuled: routeless.insert(receiver)
        case .forwarding: forwarded.insert(receiver)
        default:
            isOpen = true
            forwarded.insert(receiver)
        }
        paths[receiver] = isOpen ? .routes : path ?? .routes
    }

    /// For IPv6 the host's setting decides, whatever the interface's is: ip6_forward in net/ipv6/ip6_output.c. The
    /// loopback's setting follows the host's.
    private static func forwards(
        _ link: NetworkLink, among links: [NetworkLink]
    ) -> Set<IPAddress.Family> {
        let host = links.first { $0.index == 1 }?.forwards ?? []
        return link.forwards.intersection([.v4]).union(host.intersection([.v6]))
    }

    /// The forwarding families of every interface, in one call.
    private static func addresses(
        _ netlink: inout Netlink
    ) throws(NetlinkError) -> [UInt32: [IPAddress]] {
        let usable = try netlink.addresses().filter { !$0.isTentative }
        return Dictionary(grouping: usable, by: \.interface).mapValues { $0.map(\.address) }
    }

    /// nil when there is no path: no route, or a broadcast or multicast route, which only senders use.
    private static func path(
        by route: Route?, among links: [UInt32: NetworkLink], _ netlink: inout Netlink
    ) throws(NetlinkError) -> ReceiverPath? {
        guard let route, route.kind != .broadcast else { return nil }
        // The kernel delivers it itself: local, broadcast or multicast.
        if [.local, .anycast, .multicast].contains(route.kind) { return .stack }
        guard route.kind == .unicast, !route.isMultipath, let interface = route.interface,
            let link = links[interface]
        else { return .routes }
        // The stack handles links without addresses, such as tunnels.
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

/// An interface of a plane's hook.
package struct HostInterface: Equatable, Sendable {
    /// The index, above 0; another one when the interface is deleted and added again.
    package var index: UInt32
    /// The configured name.
    package var name: String
    /// Without zones.
    package var addresses: [IPAddress] = []
    /// The families that the kernel forwards when they arrive here.
    package var forwards: Set<IPAddress.Family> = []
    /// The type for `ip link add type`; nil for hardware and the loopback.
    package var kind: String?
    /// The current name, which differs from `name` when the interface was renamed after it was hooked.
    package var nameNow: String
    /// Its link-layer address, 6 bytes; nil for links without one, such as tunnels.
    package var mac: [UInt8]?
    /// Set up by the administrator.
    package var isUp = true
    package var hasCarrier = true
    /// The XDP features of its driver; nil when they were not requested, or the kernel does not report them.
    package var features: XDPFeatures?

    package init(
        index: UInt32, name: String, addresses: [IPAddress] = [],
        forwards: Set<IPAddress.Family> = [], kind: String? = nil
    ) {
        self.index = index
        self.name = name
        self.addresses = addresses
        self.forwards = forwards
        self.kind = kind
        nameNow = name
    }

    /// The host's current interfaces, only with index and name; none when they cannot be listed.
    package static var present: [HostInterface] {
        guard var netlink = try? Netlink(), let links = try? netlink.links() else { return [] }
        return links.map { HostInterface(index: $0.index, name: $0.name) }
    }
}
