// SPDX-License-Identifier: Apache-2.0

/// `listeners[].kubernetes`: the service whose ready endpoints are the downstreams.
public struct KubernetesConfiguration: Equatable, Sendable {
    /// Which of an endpoint's ports receives.
    public enum Port: Equatable, Sendable {
        /// 1...65535.
        case number(UInt16)
        /// The name of a port of the service: a DNS label.
        case name(String)
    }

    /// A DNS label (RFC 1123); nil = the pod's own namespace in a cluster, else `default`.
    public var namespace: String?
    /// A DNS label: the value of the label `kubernetes.io/service-name` on the endpoint slices.
    public var service: String
    public var port: Port

    public init(namespace: String? = nil, service: String, port: Port) {
        self.namespace = namespace
        self.service = service
        self.port = port
    }
}
