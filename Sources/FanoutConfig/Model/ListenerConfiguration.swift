// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// One item of `listeners`.
public struct ListenerConfiguration: Equatable, Sendable {
    /// Unique in the file, 1...128 bytes, no control characters.
    public var name: String
    /// The address and port that datagrams are sent to.
    public var bind: Endpoint
    public var mode: ForwardingMode
    public var balance: Balance
    /// Whether receivers see the client's address and port; the mode's own way unless written.
    public var preserveSource: Bool
    /// The interface that a kernel mode hooks into; always set in those modes.
    public var interface: String?
    /// Further destinations that a kernel mode serves; `.listed([])` in userspace.
    public var addresses: ServedAddresses
    /// At least one, unless one of the three below is set; then none.
    public var downstreams: [DownstreamConfiguration]
    public var kubernetes: KubernetesConfiguration?
    public var file: FileConfiguration?
    public var dns: DNSConfiguration?
    /// The file's `settings` with the listener's own laid over them key by key.
    public var settings: ListenerSettings
    /// What the keys of mode `xdp_nat` say; the defaults in other modes.
    public var nat: NATSettings

    var modeOrigin = Origin.none

    public init(
        name: String, bind: Endpoint, mode: ForwardingMode = .userspace,
        balance: Balance = .roundRobin, preserveSource: Bool? = nil, interface: String? = nil,
        addresses: ServedAddresses = .listed([]), downstreams: [DownstreamConfiguration],
        kubernetes: KubernetesConfiguration? = nil, file: FileConfiguration? = nil,
        dns: DNSConfiguration? = nil, settings: ListenerSettings = ListenerSettings(),
        nat: NATSettings = NATSettings()
    ) {
        self.name = name
        self.bind = bind
        self.mode = mode
        self.balance = balance
        self.preserveSource = preserveSource ?? mode.preservesSourceByDefault
        self.interface = interface
        self.addresses = addresses
        self.downstreams = downstreams
        self.kubernetes = kubernetes
        self.file = file
        self.dns = dns
        self.settings = settings
        self.nat = nat
    }

    /// Where the receivers come from; nil: from `downstreams`.
    public var discovery: ListenerDiscovery? {
        kubernetes?.discovery ?? file?.discovery ?? dns?.discovery
    }

    /// The listener as every data plane knows it. Downstreams that discovery finds are not in it.
    public var listener: Listener {
        Listener(
            name: name, bind: bind, mode: mode, balance: balance, preserveSource: preserveSource,
            downstreams: downstreams.map(\.downstream), settings: settings,
            interface: mode.needsInterface ? interface : nil, served: addresses,
            discovery: discovery, nat: nat)
    }
}

extension ForwardingMode {
    /// What `preserve_source` means when it is not written: the kernel modes rewrite only the
    /// destination, while userspace sends from a socket of its own.
    public var preservesSourceByDefault: Bool { self != .userspace }
}

/// One item of `listeners[].downstream`.
public struct DownstreamConfiguration: Equatable, Sendable {
    /// Unique within the listener, 1...128 bytes, no control characters.
    public var name: String
    /// Unique within the listener.
    public var address: Endpoint
    /// Share of new traffic relative to the others, 0...65535; 0 = draining.
    public var weight: UInt16
    /// A legacy key: six bytes as `02:00:00:00:00:01`, checked and then used for nothing.
    public var mac: String?

    public init(name: String, address: Endpoint, weight: UInt16 = 1, mac: String? = nil) {
        self.name = name
        self.address = address
        self.weight = weight
        self.mac = mac
    }

    /// The downstream as every data plane knows it.
    public var downstream: Downstream { Downstream(name: name, endpoint: address, weight: weight) }
}

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

/// `listeners[].file`: a file in which the receivers stand.
public struct FileConfiguration: Equatable, Sendable {
    /// 1...512 bytes; relative to where the daemon works.
    public var path: String
    /// Of receivers without a port of their own, 1...65535; nil: each must have one.
    public var port: UInt16?

    public init(path: String, port: UInt16? = nil) {
        self.path = path
        self.port = port
    }

    /// The same as a FanoutCore value.
    public var discovery: ListenerDiscovery {
        ListenerDiscovery(receivers: .file(path: path, port: port), port: .any)
    }
}

/// `listeners[].dns`: a name that stands for the receivers.
public struct DNSConfiguration: Equatable, Sendable {
    /// In lower case, without a dot at its end.
    public var name: String
    /// Of every address of the name; nil: the name has SRV records.
    public var port: UInt16?
    /// Who is asked; nil: the servers of resolv.conf(5).
    public var server: Endpoint?

    public init(name: String, port: UInt16? = nil, server: Endpoint? = nil) {
        self.name = name
        self.port = port
        self.server = server
    }

    /// The same as a FanoutCore value.
    public var discovery: ListenerDiscovery {
        let query = DNSQuery(name: name, port: port, server: server)
        return ListenerDiscovery(receivers: .dns(query), port: .any)
    }
}
