// SPDX-License-Identifier: Apache-2.0

/// Everything that one source knows at one moment.
public struct DiscoveredSet: Equatable, Sendable {
    /// Entries that can never receive, whatever their state. The raw value is the metric label `state`.
    public enum Unusable: String, CaseIterable, Hashable, Sendable {
        /// A name instead of an address.
        case name = "fqdn"
        /// No UDP port with a number.
        case noPort = "no_port"
        /// Not the address of a single receiver.
        case badAddress = "bad_address"
    }

    /// Each combination of address and ports once, by address.
    public let endpoints: [DiscoveredEndpoint]
    /// Addresses for a listener to serve.
    public var addresses: [IPAddress]
    /// Whether an answer is missing that may name more endpoints. A listener that can use none of these keeps its
    /// last-known receivers.
    public var isPartial = false
    /// Entries that were left out, by reason.
    public var unusable: [Unusable: Int]

    /// - Parameter endpoints: duplicates are merged into the better state. An endpoint that moves from one
    ///   EndpointSlice to another is briefly in both. O(n log n).
    public init(
        _ endpoints: some Sequence<DiscoveredEndpoint> = [], addresses: [IPAddress] = [],
        unusable: [Unusable: Int] = [:]
    ) {
        var once: [DiscoveredEndpoint] = []
        for endpoint in endpoints.sorted(by: Self.isBefore) {
            // Duplicates are neighbours now, the better one first.
            if let last = once.last, last.address == endpoint.address, last.ports == endpoint.ports
            {
                continue
            }
            once.append(endpoint)
        }
        self.endpoints = once
        self.addresses = Set(addresses).sorted { Endpoint($0, port: 1) < Endpoint($1, port: 1) }
        self.unusable = unusable
    }

    /// By address, then ports, then state.
    private static func isBefore(_ left: DiscoveredEndpoint, _ right: DiscoveredEndpoint) -> Bool {
        let (a, b) = (left.address, right.address)
        if a.high != b.high { return a.high < b.high }
        if a.low != b.low { return a.low < b.low }
        if a.zone != b.zone { return (a.zone ?? "") < (b.zone ?? "") }
        if left.ports != right.ports {
            return left.ports.lexicographicallyPrecedes(right.ports) {
                ($0.number, $0.name) < ($1.number, $1.name)
            }
        }
        return left.readiness.rank < right.readiness.rank
    }

    /// How many endpoints are in each state, including states without any.
    public var states: [String: Int] {
        var result: [String: Int] = [:]
        for state in DiscoveredEndpoint.Readiness.allCases { result[state.rawValue] = 0 }
        for endpoint in endpoints { result[endpoint.readiness.rawValue, default: 0] += 1 }
        for reason in Unusable.allCases { result[reason.rawValue] = unusable[reason] ?? 0 }
        return result
    }
}

/// A UDP port of an endpoint.
public struct DiscoveredPort: Hashable, Sendable {
    /// Empty when the port has no name.
    public var name: String
    /// 1...65535.
    public var number: UInt16

    public init(name: String = "", number: UInt16) {
        self.name = name
        self.number = number
    }
}

/// A possible receiver, as its source describes it.
public struct DiscoveredEndpoint: Hashable, Sendable {
    /// Whether it may receive traffic, best first. The raw value is the metric label `state`.
    public enum Readiness: String, CaseIterable, Hashable, Sendable {
        case ready
        /// Shutting down, but still serving.
        case terminating
        case notReady = "not_ready"

        /// 0 is best.
        var rank: Int {
            switch self {
            case .ready: 0
            case .terminating: 1
            case .notReady: 2
            }
        }
    }

    /// Such as the name of a pod, which is the same for its addresses of both families; nil: it has none.
    public var name: String?
    public var address: IPAddress
    /// Empty if it declares none.
    public var ports: [DiscoveredPort]
    public var readiness: Readiness
    /// Its share of new traffic relative to the others, 1...65535.
    public var weight: UInt16

    public init(
        name: String? = nil, address: IPAddress, ports: [DiscoveredPort],
        readiness: Readiness = .ready, weight: UInt16 = 1
    ) {
        self.name = name
        self.address = address
        self.ports = ports
        self.readiness = readiness
        self.weight = weight
    }
}
