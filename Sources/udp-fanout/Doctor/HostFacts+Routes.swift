// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

#if KernelModes
    internal import KernelForwarding

    extension HostFacts {
        /// Looks up the routes to receivers; for kernel modes in the same way as their planes. Failed lookups leave
        /// them unknown.
        mutating func lookUp(_ listeners: [Listener]) {
            guard var netlink = try? Netlink() else { return }
            for (mode, listeners) in Dictionary(grouping: listeners, by: \.mode) {
                let receivers = listeners.flatMap { $0.downstreams.map(\.endpoint.address) }
                guard
                    let view = try? NetworkView.ask(
                        &netlink, names: Set(listeners.compactMap(\.interface)), known: [:],
                        receivers: Set(receivers), mindsRules: mode == .tcEBPF)
                else { continue }
                if mode == .xdpNAT { locals.formUnion(receivers.filter(view.isLocal)) }
                lookUpAddresses(of: listeners, &netlink)
                forwarded.formUnion(view.forwarded)
                routeless.formUnion(view.routeless)
                for (receiver, path) in view.paths {
                    switch path {
                    case .neighbour(let number, _, _), .peer(let number, _, _, _):
                        exits[receiver] = view.interfaces.first { $0.index == number }?.name
                    case .stack, .forwarding, .routes: continue
                    }
                }
            }
        }

        /// Looks up which served addresses are in a network of an interface but not on this host.
        private mutating func lookUpAddresses(of listeners: [Listener], _ netlink: inout Netlink) {
            let served = Set(
                listeners.filter(\.mode.needsInterface).flatMap(\.destinations))
            guard !served.isEmpty,
                let view = try? NetworkView.ask(
                    &netlink, names: [], known: [:], receivers: served)
            else { return }
            for (address, path) in view.paths {
                switch path {
                case .neighbour(let number, address, _), .peer(let number, address, _, _):
                    onLink[address] = view.interfaces.first { $0.index == number }?.name
                default: continue
                }
            }
        }
    }

    extension HostFacts {
        /// Looks up the kinds of the interfaces and their VLANs.
        mutating func lookUpLinks() {
            guard var netlink = try? Netlink(), let links = try? netlink.links() else { return }
            for link in links where (interfaces[link.name] ?? nil) != nil {
                interfaces[link.name]??.isVeth = link.kind == "veth"
                interfaces[link.name]??.vlans = links.filter {
                    $0.kind == "vlan" && $0.peerIndex == link.index && !$0.isPeerElsewhere
                }.map(\.name)
            }
        }
    }
#else
    extension HostFacts {
        mutating func lookUpLinks() {}

        /// No mode of this build needs the routes to receivers.
        mutating func lookUp(_ listeners: [Listener]) {}
    }
#endif
