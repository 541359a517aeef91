// SPDX-License-Identifier: Apache-2.0

/// What to look up receivers or addresses by. Listeners that name the same subject share one source.
public enum DiscoverySubject: Hashable, Sendable {
    /// The EndpointSlices of a Kubernetes service: its receivers.
    case endpointSlices(ServiceName)
    /// The addresses that a load balancer, such as MetalLB, has given to a Kubernetes service.
    case loadBalancer(ServiceName)
    /// The receivers listed in a file, at `port` unless they have their own.
    case file(path: String, port: UInt16?)
    /// The hosts of a DNS name.
    case dns(DNSQuery)
    /// Fixed receivers.
    case fixed([Endpoint])

    /// A service of a cluster.
    public struct ServiceName: Hashable, Sendable, CustomStringConvertible {
        /// nil: the pod's own namespace in a cluster, else `default`.
        public var namespace: String?
        public var service: String

        public init(namespace: String?, service: String) {
            self.namespace = namespace
            self.service = service
        }

        public var description: String { (namespace.map { $0 + "/" } ?? "") + service }
    }
}

extension DiscoverySubject: CustomStringConvertible {
    /// The metric label `source`.
    public var description: String {
        switch self {
        case .endpointSlices(let name): "endpointslices:\(name)"
        case .loadBalancer(let name): "loadbalancer:\(name)"
        case .file(let path, let port): "file:\(path)" + (port.map { ":\($0)" } ?? "")
        case .dns(let query): "dns:\(query)"
        case .fixed(let endpoints):
            "fixed:" + endpoints.map(\.description).joined(separator: ",")
        }
    }
}

extension DiscoverySubject: Comparable {
    public static func < (left: DiscoverySubject, right: DiscoverySubject) -> Bool {
        left.description < right.description
    }
}

/// A DNS query for receivers.
public struct DNSQuery: Hashable, Sendable, CustomStringConvertible {
    /// Fully qualified, with or without a final dot: no search domain is appended.
    public var name: String
    /// The port of every address of the name (A, AAAA). Nil: the name has SRV records, which contain hosts, ports
    /// and weights.
    public var port: UInt16?
    /// The server to query; nil: the servers of resolv.conf(5).
    public var server: Endpoint?

    public init(name: String, port: UInt16? = nil, server: Endpoint? = nil) {
        self.name = name
        self.port = port
        self.server = server
    }

    public var description: String {
        name + (port.map { ":\($0)" } ?? "") + (server.map { "@\($0)" } ?? "")
    }
}

/// Where a listener's receivers come from if its configuration does not list them.
public struct ListenerDiscovery: Hashable, Sendable {
    /// What to look up the receivers by.
    public var receivers: DiscoverySubject
    /// Which port of a receiver to use.
    public var port: ReceiverPort
    /// A subject whose addresses the listener serves besides its own.
    public var addresses: DiscoverySubject?

    public init(
        receivers: DiscoverySubject, port: ReceiverPort, addresses: DiscoverySubject? = nil
    ) {
        self.receivers = receivers
        self.port = port
        self.addresses = addresses
    }

    /// Everything to look up for it.
    public var subjects: [DiscoverySubject] { [receivers] + (addresses.map { [$0] } ?? []) }
}

/// Which UDP port of an endpoint receives.
public enum ReceiverPort: Hashable, Sendable {
    /// The port of this number, 1...65535. An endpoint without declared ports is assumed to have it.
    case number(UInt16)
    /// The port of this name.
    case name(String)
    /// Every port that the source gives.
    case any

    /// The numbers of the ports to use.
    func numbers(among ports: [DiscoveredPort]) -> [UInt16] {
        switch self {
        case .number(let number):
            ports.isEmpty || ports.contains { $0.number == number } ? [number] : []
        case .name(let name): ports.filter { $0.name == name }.map(\.number)
        case .any: ports.map(\.number)
        }
    }
}
