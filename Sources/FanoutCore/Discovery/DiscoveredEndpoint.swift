// SPDX-License-Identifier: Apache-2.0

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

/// A possible receiver, as a source of receivers knows it.
public struct DiscoveredEndpoint: Hashable, Sendable {
    /// Whether it may get traffic, best first. The raw value is the metric label `state`.
    public enum Readiness: String, CaseIterable, Hashable, Sendable {
        case ready
        /// On its way out, and still able to answer.
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

    /// Who it is, such as the name of a pod: its addresses of both families share it. nil: nobody has
    /// named it.
    public var name: String?
    public var address: IPAddress
    /// Empty when it declares none.
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
