// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import KernelForwarding

/// A setting or state of the host that prevents routed packets from getting through.
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

    /// The obstacles for packets from servers; those for a server on this host are not included.
    static func onTheWay(to listener: Listener, _ network: NetworkView) -> [Obstacle] {
        listener.nat.isOneArm
            ? []
            : unforwarded(listener, network) + routeless(listener, network)
                + unplugged(listener, network)
    }

    /// The replies of a server on this host come in by no interface, so they would leave with the server's address.
    private static func local(_ listener: Listener, _ network: NetworkView) -> [Obstacle] {
        let names = listener.downstreams.filter { network.isLocal($0.endpoint.address) }
            .map(\.name)
        guard !names.isEmpty else { return [] }
        return [
            Obstacle(
                listener: listener.name, receivers: names,
                reason: "\(names.joined(separator: ", ")): on this host, where no program sees "
                    + "the replies",
                remedy: "use servers on other hosts, or in their own network namespaces")
        ]
    }

    /// The kernel refuses a route lookup where it would not forward.
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
                remedy: "sysctl -w \(name)=1, or set one_arm: true when clients and servers are "
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
