// SPDX-License-Identifier: Apache-2.0

/// An EndpointSlice, as a cluster writes it.
public struct Slice: Encodable, Sendable {
    public struct Endpoint: Encodable, Sendable {
        public struct Conditions: Encodable, Sendable {
            public var ready: Bool?
            public var serving: Bool?
            public var terminating: Bool?
        }
        public struct Target: Encodable, Sendable {
            public var kind = "Pod"
            public var name: String
        }
        public var addresses: [String]
        public var conditions: Conditions?
        public var targetRef: Target?

        public init(
            _ address: String, pod: String? = nil, ready: Bool? = true, serving: Bool? = nil,
            terminating: Bool? = nil
        ) {
            addresses = [address]
            conditions = Conditions(ready: ready, serving: serving, terminating: terminating)
            targetRef = pod.map { Target(name: $0) }
        }

        /// A terminating endpoint that still serves.
        public static func leaving(_ address: String, pod: String? = nil) -> Endpoint {
            Endpoint(address, pod: pod, ready: false, serving: true, terminating: true)
        }
    }

    public struct Port: Encodable, Sendable {
        public var name: String?
        public var port: Int?
        public var `protocol`: String?

        public init(_ port: Int?, name: String? = nil, protocol: String? = "UDP") {
            (self.port, self.name, self.protocol) = (port, name, `protocol`)
        }
    }

    public struct Metadata: Encodable, Sendable {
        public var name: String
        public var resourceVersion = ""
        public var labels: [String: String]
    }

    public var metadata: Metadata
    public var addressType: String
    public var endpoints: [Endpoint]?
    public var ports: [Port]?

    public init(
        _ name: String, of service: String = "s", _ endpoints: [Endpoint],
        ports: [Port] = [Port(9000, name: "data")], family: String = "IPv4"
    ) {
        metadata = Metadata(
            name: name, labels: ["kubernetes.io/service-name": service])
        addressType = family
        self.endpoints = endpoints
        self.ports = ports
    }

    public static let path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
}
