// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import KernelForwarding

/// Something about the host that keeps routed packets from their way.
struct Obstacle: Sendable, CustomStringConvertible {
    let listener: String
    /// By name.
    let receivers: [String]
    let reason: String
    let remedy: String

    var description: String { "\(listener): \(reason)" }

    var obstruction: Obstruction {
        Obstruction(listener: listener, receivers: receivers, reason: reason, remedy: remedy)
    }

    static func all(of listeners: [Listener], on network: NetworkView) -> [Obstacle] {
        listeners.flatMap { local($0, network) + onTheWay(to: $0, network) }
    }

    /// Those that keep packets from servers; what a server on this host gets is not among them.
    static func onTheWay(to listener: Listener, _ network: NetworkView) -> [Obstacle] {
        listener.nat.isOneArm
            ? []
            : unforwarded(listener, network) + routeless(listener, network)
                + unplugged(listener, network)
    }

    /// What a server on this host answers comes in by no interface, so it would leave as the server's.
    private static func local(_ listener: Listener, _ network: NetworkView) -> [Obstacle] {
        let names = listener.downstreams.filter { network.isLocal($0.endpoint.address) }
            .map(\.name)
        guard !names.isEmpty else { return [] }
        return [
            Obstacle(
                listener: listener.name, receivers: names,
                reason: "\(names.joined(separator: ", ")): on this host, where no program sees "
                    + "the answers",
                remedy: "name servers on other hosts, or in network namespaces of their own")
        ]
    }

    /// The kernel's look at its routes is refused where it would not forward.
    private static func unforwarded(_ listener: Listener, _ network: NetworkView) -> [Obstacle] {
        guard let interface = network.interface(named: listener.interface) else { return [] }
        let families = Set(listener.downstreams.map(\.endpoint.address.family))
        return [IPAddress.Family.v4, .v6].filter {
            families.contains($0) && !interface.forwards.contains($0)
        }.map { family in
            let name = family == .v4 ? "net.ipv4.ip_forward" : "net.ipv6.conf.all.forwarding"
            return Obstacle(
                listener: listener.name,
                receivers: listener.downstreams.filter { $0.endpoint.address.family == family }
                    .map(\.name),
                reason: "\(interface.name) does not forward \(family.rawValue)",
                remedy: "sysctl -w \(name)=1, or write one_arm: true when clients and servers are "
                    + "behind one gateway")
        }
    }

    private static func routeless(_ listener: Listener, _ network: NetworkView) -> [Obstacle] {
        let names = listener.downstreams.filter {
            network.routeless.contains($0.endpoint.address)
        }.map(\.name)
        guard !names.isEmpty else { return [] }
        return [
            Obstacle(
                listener: listener.name, receivers: names,
                reason: "there is no route to \(names.joined(separator: ", "))",
                remedy: "add a route (ip route), or remove them")
        ]
    }

    private static func unplugged(_ listener: Listener, _ network: NetworkView) -> [Obstacle] {
        let names = listener.downstreams.filter {
            network.unplugged.contains($0.endpoint.address)
        }.map(\.name)
        guard !names.isEmpty else { return [] }
        return [
            Obstacle(
                listener: listener.name, receivers: names,
                reason: "the link to \(names.joined(separator: ", ")) has no carrier",
                remedy: "set the link's other end up, plug it in, or remove them")
        ]
    }
}
