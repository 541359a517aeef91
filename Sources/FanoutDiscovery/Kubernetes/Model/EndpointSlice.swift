// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// Some endpoints of a service (discovery.k8s.io/v1). Absent lists and fields have the meaning of the API
/// reference, which is not always that of their zero value.
struct EndpointSlice: WatchedObject {
    struct Endpoint: Decodable, Sendable {
        struct Conditions: Decodable, Sendable {
            var ready: Bool?
            var serving: Bool?
            var terminating: Bool?
        }
        struct Target: Decodable, Sendable {
            var name: String?
        }

        /// Interchangeable; consumers may use only the first.
        var addresses: [String]?
        var conditions: Conditions?
        var targetRef: Target?

        var readiness: DiscoveredEndpoint.Readiness {
            if conditions?.ready ?? true { return .ready }
            let isServing = conditions?.serving ?? true
            return isServing && conditions?.terminating ?? false ? .terminating : .notReady
        }
    }

    struct Port: Decodable, Sendable {
        var name: String?
        var port: Int?
        /// nil: TCP.
        var `protocol`: String?
    }

    var metadata: ObjectMeta
    var addressType: String?
    var endpoints: [Endpoint]?
    var ports: [Port]?

    /// The UDP ports with a number.
    private var usablePorts: [DiscoveredPort] {
        (ports ?? []).compactMap { port in
            guard port.protocol == "UDP", let number = port.port.flatMap(UInt16.init(exactly:)),
                number != 0
            else { return nil }
            return DiscoveredPort(name: port.name ?? "", number: number)
        }
    }

    /// Merges the slices of a service.
    static func merged(_ slices: some Sequence<EndpointSlice>) -> DiscoveredSet {
        var endpoints: [DiscoveredEndpoint] = []
        var unusable: [DiscoveredSet.Unusable: Int] = [:]
        for slice in slices {
            let all = slice.endpoints ?? []
            guard slice.addressType != "FQDN" else {
                unusable[.name, default: 0] += all.count
                continue
            }
            let ports = slice.usablePorts
            // A service may declare no ports; that differs from ports that cannot be used.
            guard !ports.isEmpty || slice.ports?.isEmpty ?? true else {
                unusable[.noPort, default: 0] += all.count
                continue
            }
            for endpoint in all {
                guard let address = endpoint.addresses?.first.flatMap({ IPAddress($0) }),
                    address.canReceive
                else {
                    unusable[.badAddress, default: 0] += 1
                    continue
                }
                endpoints.append(
                    DiscoveredEndpoint(
                        name: endpoint.targetRef?.name, address: address, ports: ports,
                        readiness: endpoint.readiness))
            }
        }
        return DiscoveredSet(endpoints, unusable: unusable)
    }
}

extension IPAddress {
    /// Whether it can be the address of a single receiver that this host reaches.
    var canReceive: Bool {
        !isWildcard && !isMulticastOrBroadcast && (!isLinkLocal || zone != nil)
    }
}
