// SPDX-License-Identifier: Apache-2.0

/// What receivers or addresses are looked up by. Listeners that name the same subject share one source.
public enum DiscoverySubject: Hashable, Sendable {
    /// The EndpointSlices of a Kubernetes service: its receivers.
    case endpointSlices(ServiceName)
    /// The addresses that a load balancer, such as MetalLB, has given to a Kubernetes service.
    case loadBalancer(ServiceName)
    /// The receivers that stand in a file, at `port` unless they have one of their own.
    case file(path: String, port: UInt16?)
    /// The hosts that a name stands for.
    case dns(DNSQuery)
    /// These, and never others.
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
