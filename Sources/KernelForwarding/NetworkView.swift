// SPDX-License-Identifier: Apache-2.0

package import FanoutCore

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
    /// Receivers behind a link whose other end is missing: packets sent into it are lost.
    package var unplugged: Set<IPAddress> = []

    /// For planes that make frames themselves.
    package var links = LinkLayer()

    package init(interfaces: [HostInterface]) { self.interfaces = interfaces }

    package func interface(named name: String?) -> HostInterface? {
        interfaces.first { $0.name == name }
    }

    /// Whether a receiver is on this host, by one of its addresses or by a route of type `local`.
    package func isLocal(_ receiver: IPAddress) -> Bool {
        paths[receiver] == .stack && !forwarded.contains(receiver)
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
    /// - Parameters:
    ///   - names: interfaces whose addresses matter; nil: all of them.
    ///   - mindsRules: whether a way is left open (`.routes`) where the rules of ip-rule(8) may send two
    ///     packets to one receiver different ways. To look them up for a packet, the kernel wants to
    ///     forward what comes in by the interface; where it does not, they are not minded.
    ///   - memory: the ways that others have asked for.
    ///   - since: how old these may be.
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

    /// Takes note of the way to a receiver.
    ///
    /// - Parameter isRuled: whether another packet may go another way.
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

    /// Of IPv6 it is the host that forwards, whatever the interface's setting says: ip6_forward in
    /// net/ipv6/ip6_output.c. The loopback's setting follows the host's.
    private static func forwards(
        _ link: NetworkLink, among links: [NetworkLink]
    ) -> Set<IPAddress.Family> {
        let host = links.first { $0.index == 1 }?.forwards ?? []
        return link.forwards.intersection([.v4]).union(host.intersection([.v6]))
    }

    /// Those of every interface, in one look.
    private static func addresses(
        _ netlink: inout Netlink
    ) throws(NetlinkError) -> [UInt32: [IPAddress]] {
        let usable = try netlink.addresses().filter { !$0.isTentative }
        return Dictionary(grouping: usable, by: \.interface).mapValues { $0.map(\.address) }
    }

    /// nil when there is no way: no route, or one to all hosts of a link, which is for senders alone.
    private static func path(
        by route: Route?, among links: [UInt32: NetworkLink], _ netlink: inout Netlink
    ) throws(NetlinkError) -> ReceiverPath? {
        guard let route, route.kind != .broadcast else { return nil }
        // The kernel's own decision: for this host, or for many.
        if [.local, .anycast, .multicast].contains(route.kind) { return .stack }
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

/// An interface as far as a plane that hooks into it is concerned.
package struct HostInterface: Equatable, Sendable {
    /// The kernel's number for it, above 0; another one when it is deleted and made again.
    package var index: UInt32
    /// As the configuration calls it.
    package var name: String
    /// Without zones.
    package var addresses: [IPAddress] = []
    /// The families of which the kernel forwards what comes in here.
    package var forwards: Set<IPAddress.Family> = []
    /// What `ip link add type` calls it; nil for hardware and the loopback.
    package var kind: String?
    /// As the kernel calls it now, which is not `name` when it was renamed after it had been hooked.
    package var nameNow: String
    /// Its link-layer address, 6 bytes; nil for links without one, such as tunnels.
    package var mac: [UInt8]?
    /// Set up by the administrator.
    package var isUp = true
    package var hasCarrier = true
    /// What its driver can do with frames of XDP; nil when that was not asked for, or the kernel does not say.
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

    /// Those that the host has now, by number and name alone; none when they cannot be asked for.
    package static var present: [HostInterface] {
        guard var netlink = try? Netlink(), let links = try? netlink.links() else { return [] }
        return links.map { HostInterface(index: $0.index, name: $0.name) }
    }
}
