// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

#if KernelModes
    internal import HostNetwork
    internal import Netlink

    extension HostFacts {
        /// Looks up the ways to receivers, those of the kernel modes as their planes do. What cannot be found
        /// out stays unknown.
        mutating func lookUp(_ listeners: [Listener]) {
            guard var netlink = try? Netlink() else { return }
            for (mode, listeners) in Dictionary(grouping: listeners, by: \.mode) {
                let receivers = listeners.flatMap { $0.downstreams.map(\.endpoint.address) }
                guard
                    let view = try? NetworkView.ask(
                        &netlink, names: Set(listeners.compactMap(\.interface)), known: [:],
                        receivers: Set(receivers), mindsRules: mode == .tcEBPF)
                else { continue }
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
    }
#else
    extension HostFacts {
        /// No mode of this build asks for the ways to receivers.
        mutating func lookUp(_ listeners: [Listener]) {}
    }
#endif
