// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// Unreachable receivers of a listener: their datagrams are dropped, as the kernel's stack would drop them.
struct Blockage: Hashable, Sendable {
    enum Cause: Hashable, Sendable {
        case noRoute
        case noCarrier
        /// The kernel does not forward datagrams of the family that arrive on the listener's interface.
        case noForwarding(IPAddress.Family)
    }

    let listener: String
    let interface: String
    let cause: Cause
    /// The receivers' names in the listener.
    let receivers: [String]

    /// - Parameter needsForwarding: whether the plane depends on the kernel's forwarding.
    static func all(
        of listeners: [Listener], on network: NetworkView, needsForwarding: Bool
    ) -> [Blockage] {
        listeners.flatMap { listener -> [Blockage] in
            guard let interface = network.interface(named: listener.interface) else { return [] }
            let causes = listener.downstreams.filter { $0.weight > 0 }.map { receiver in
                (receiver.name, cause(of: receiver.endpoint.address, at: interface, network))
            }
            var order: [Cause] = [.noRoute, .noCarrier]
            if needsForwarding { order += [.noForwarding(.v4), .noForwarding(.v6)] }
            return order.compactMap { cause in
                let names = causes.filter { $0.1 == cause }.map(\.0)
                guard !names.isEmpty else { return nil }
                return Blockage(
                    listener: listener.name, interface: interface.name, cause: cause,
                    receivers: names)
            }
        }
    }

    private static func cause(
        of receiver: IPAddress, at interface: HostInterface, _ network: NetworkView
    ) -> Cause? {
        if network.routeless.contains(receiver) { return .noRoute }
        if network.unplugged.contains(receiver) { return .noCarrier }
        let isStuck =
            network.forwarded.contains(receiver) && !interface.forwards.contains(receiver.family)
        return isStuck ? .noForwarding(receiver.family) : nil
    }

    var obstruction: Obstruction {
        Obstruction(listener: listener, receivers: receivers, reason: reason, remedy: remedy)
    }

    var reason: String {
        switch cause {
        case .noRoute: "there is no route to them"
        case .noCarrier: "the link to them has no carrier"
        case .noForwarding(let family):
            "\(sysctl(family)) is 0, and the path to them needs IP forwarding"
        }
    }

    var remedy: String {
        switch cause {
        case .noRoute: "add a route (ip route), or remove them"
        case .noCarrier: "set the link's other end up, plug it in, or remove them"
        // If the host's setting is already on, setting it has no effect; with it off, an interface's setting alone
        // would not let replies in.
        case .noForwarding(.v4): "sysctl -w net.ipv4.ip_forward=1 \(sysctl(.v4))=1"
        case .noForwarding(.v6): "sysctl -w net.ipv6.conf.all.forwarding=1"
        }
    }

    private func sysctl(_ family: IPAddress.Family) -> String {
        // sysctl(8) uses a slash for a dot in a name.
        let name = interface.split(separator: ".").joined(separator: "/")
        return family == .v4 ? "net.ipv4.conf.\(name).forwarding" : "net.ipv6.conf.all.forwarding"
    }
}
