// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// client ── c0 │ lb0 ── balancer ── out0…2 │ in0 ── three receivers, each in its own network.
///
/// Addresses of IPv4 / IPv6: 10.8.0.x / fd08::x between client (2) and balancer (1), 10.8.9.x /
/// fd08:9::x as further sources of the client, 10.8.N.x / fd08:N::x between balancer (1) and receiver
/// (2), N counted from 1.
public final class VethLab: Sendable {
    public let client: Network
    public let balancer: Network
    public let receivers: [Network]

    public init(receivers count: Int = 3) throws {
        (client, balancer) = (try Network(), try Network())
        receivers = try (0..<count).map { _ in try Network() }
        try balancer.set("ipv4/ip_forward", to: "1")
        try balancer.set("ipv6/conf/all/forwarding", to: "1")
        try Self.connect(balancer, "lb0", client, "c0", subnet: 0)
        try client.ip("route add local 10.8.9.0/24 dev lo")
        try client.set("ipv6/ip_nonlocal_bind", to: "1")
        for (index, receiver) in receivers.enumerated() {
            try Self.connect(balancer, "out\(index)", receiver, "in0", subnet: index + 1)
        }
    }

    /// Adds a veth between two networks: the first has address 1 and the other 2.
    ///
    /// - Parameter isRouted: whether the second gets its default routes through it.
    public static func connect(
        _ near: Network, _ nearName: String, _ far: Network, _ farName: String, subnet: Int,
        isRouted: Bool = true
    ) throws {
        try near.ip("link add \(nearName) type veth peer name \(farName) netns \(far.path)")
        for (network, name, number) in [(near, nearName, 1), (far, farName, 2)] {
            // Reverse path filtering would drop packets whose source is not behind their interface.
            for scope in [name, "all"] { try network.set("ipv4/conf/\(scope)/rp_filter", to: "0") }
            try network.ip("link set \(name) up")
            try network.ip("address add \(v4(subnet, number))/24 dev \(name)")
            try network.ip("address add \(v6(subnet, number))/64 dev \(name) nodad")
        }
        guard isRouted else { return }
        try far.ip("route add default via \(v4(subnet, 1))")
        try far.ip("-6 route add default via \(v6(subnet, 1))")
    }

    public static func v4(_ subnet: Int, _ number: Int) -> IPAddress {
        IPAddress(v4: 0x0a08_0000 + UInt32(subnet << 8 + number))
    }

    public static func v6(_ subnet: Int, _ number: Int) -> IPAddress {
        IPAddress(high: 0xfd08_0000_0000_0000 + UInt64(subnet) << 32, low: UInt64(number))
    }

    public static func address(_ family: IPAddress.Family, _ subnet: Int, _ number: Int)
        -> IPAddress
    {
        family == .v4 ? v4(subnet, number) : v6(subnet, number)
    }
}
