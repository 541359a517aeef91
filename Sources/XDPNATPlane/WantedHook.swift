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
    ///
    /// - Parameter left: the interfaces by which answers may still come in.
    static func all(
        of listeners: [Listener], on network: NetworkView, left: Set<UInt32> = []
    ) -> [WantedHook] {
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
                guard let index = network.paths[address]?.interface else { continue }
                want(index, listener.settings.xdpMode)
            }
        }
        for index in left { want(index, .auto) }
        return network.interfaces.compactMap { interface in
            wanted[interface.index].map { WantedHook(interface: interface, attach: $0) }
        }
    }
}
