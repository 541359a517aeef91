// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

#if KernelModes
    internal import HostNetwork
    internal import Netlink

    extension HostFacts {
        /// Looks up the ways to receivers as the kernel modes do. What cannot be found out stays unknown.
        mutating func lookUp(_ receivers: Set<IPAddress>) {
            guard var netlink = try? Netlink(),
                let view = try? NetworkView.ask(
                    &netlink, names: [], known: [:], receivers: receivers)
            else { return }
            forwarded = view.forwarded
            for (receiver, path) in view.paths {
                switch path {
                case .neighbour(let number, _, _), .peer(let number, _, _, _):
                    exits[receiver] = view.interfaces.first { $0.index == number }?.name
                case .stack, .forwarding, .routes: continue
                }
            }
        }
    }
#else
    extension HostFacts {
        /// No mode of this build asks for the ways to receivers.
        mutating func lookUp(_ receivers: Set<IPAddress>) {}
    }
#endif
