// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

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
    /// Whether the addresses that a load balancer has given to the service join the listener's
    /// `addresses`; false in userspace.
    public var vip: Bool

    public init(namespace: String? = nil, service: String, port: Port, vip: Bool = false) {
        self.namespace = namespace
        self.service = service
        self.port = port
        self.vip = vip
    }

    /// The same as a FanoutCore value.
    public var discovery: ListenerDiscovery {
        let name = DiscoverySubject.ServiceName(namespace: namespace, service: service)
        let port: ReceiverPort =
            switch port {
            case .number(let number): .number(number)
            case .name(let name): .name(name)
            }
        return ListenerDiscovery(
            receivers: .endpointSlices(name), port: port,
            addresses: vip ? .loadBalancer(name) : nil)
    }
}
