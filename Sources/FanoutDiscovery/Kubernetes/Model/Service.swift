// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// A service (core/v1), as far as its load balancer's addresses go.
struct Service: WatchedObject {
    struct Status: Decodable, Sendable {
        struct LoadBalancer: Decodable, Sendable {
            struct Ingress: Decodable, Sendable {
                /// nil when the balancer is known by a name instead.
                var ip: String?
            }
            var ingress: [Ingress]?
        }
        var loadBalancer: LoadBalancer?
    }

    var metadata: ObjectMeta
    var status: Status?

    /// The addresses that the load balancer has been given.
    static func merged(_ services: some Sequence<Service>) -> DiscoveredSet {
        let texts = services.flatMap { $0.status?.loadBalancer?.ingress ?? [] }.compactMap(\.ip)
        return DiscoveredSet(
            addresses: texts.compactMap { IPAddress($0) }.filter { $0.canReceive })
    }
}
