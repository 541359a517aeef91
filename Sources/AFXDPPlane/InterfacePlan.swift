// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import HostNetwork

/// What an interface is to serve.
struct InterfacePlan: Sendable {
    let interface: HostInterface
    let device: LinkLayer.Device
    /// By name.
    var listeners: [Listener] = []
    /// Whose they are: a place in `listeners`. The first listener of several has a destination.
    var destinations: [ServedDestination: Int] = [:]

    /// One for each interface that listeners name and that is there, by number.
    static func all(
        of listeners: [Listener], on network: NetworkView, _ links: LinkLayer
    ) -> [InterfacePlan] {
        var plans: [UInt32: InterfacePlan] = [:]
        for listener in listeners {
            guard let interface = network.interface(named: listener.interface),
                let device = links.devices[interface.index]
            else { continue }
            var plan =
                plans[interface.index] ?? InterfacePlan(interface: interface, device: device)
            let place = plan.listeners.count
            plan.listeners.append(listener)
            for destination in ServedDestination.all(of: listener, on: interface)
            // Those without a port are for fragments, which the network stack gets.
            where destination.port != 0 && plan.destinations[destination] == nil {
                plan.destinations[destination] = place
            }
            plans[interface.index] = plan
        }
        return plans.values.sorted { $0.interface.index < $1.interface.index }
    }

    /// Every queue that packets come in by.
    var queues: Range<UInt32> { 0..<device.receiveQueues }

    /// What one of the listeners wants goes for all: the check of a configuration has them agree.
    var mode: XDPAttach { listeners.map(\.settings.xdpMode).first { $0 != .auto } ?? .auto }

    var polls: Bool { listeners.contains { $0.settings.busyPoll } }

    var pinsCPUs: Bool { listeners.contains { $0.settings.pinCPUs } }
}
