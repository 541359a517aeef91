// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import HostNetwork

/// An interface that the program is to be attached to, and how.
struct WantedHook: Equatable, Sendable {
    let interface: HostInterface
    let attach: XDPAttach

    /// One for each interface that listeners name and, where packets are routed, by which their servers
    /// are reached; those that are there, by number. A listener's own wish goes before what its servers'
    /// interface is taken along with.
    static func all(of listeners: [Listener], on network: NetworkView) -> [WantedHook] {
        var wanted: [UInt32: XDPAttach] = [:]
        func want(_ index: UInt32, _ attach: XDPAttach) {
            let known = wanted[index] ?? .auto
            wanted[index] = known == .auto ? attach : known
        }
        for listener in listeners {
            guard let interface = network.interface(named: listener.interface) else { continue }
            want(interface.index, listener.settings.xdpMode)
        }
        for listener in listeners where !listener.nat.isOneArm {
            for address in listener.downstreams.map(\.endpoint.address) {
                switch network.paths[address] {
                case .neighbour(let index, _, _), .peer(let index, _, _, _):
                    want(index, listener.settings.xdpMode)
                case .stack, .forwarding, .routes, nil: continue
                }
            }
        }
        return network.interfaces.compactMap { interface in
            wanted[interface.index].map { WantedHook(interface: interface, attach: $0) }
        }
    }
}
