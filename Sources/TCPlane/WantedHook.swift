// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import HostNetwork

/// An interface that the program is to be attached to, and how.
struct WantedHook: Equatable, Sendable {
    let interface: HostInterface
    let attach: TCAttach

    /// One for each interface that listeners name and that is there, by number.
    ///
    /// - Throws: `PlaneError` when two listeners of an interface want it hooked in different ways.
    static func all(
        of listeners: [Listener], on network: NetworkView
    ) throws(PlaneError) -> [WantedHook] {
        var wanted: [UInt32: WantedHook] = [:]
        for listener in listeners {
            guard let interface = network.interface(named: listener.interface) else { continue }
            let attach = listener.settings.tcAttach
            let known = wanted[interface.index]?.attach ?? .auto
            guard attach == .auto || known == .auto || attach == known else {
                throw PlaneError(listener, disagreesOver: interface.name)
            }
            wanted[interface.index] = WantedHook(
                interface: interface, attach: attach == .auto ? known : attach)
        }
        return wanted.values.sorted { $0.interface.index < $1.interface.index }
    }
}
