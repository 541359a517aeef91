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
    /// With `balance: payload` only.
    public var payloadKey: PayloadKey?
    /// Whether receivers see the client's address and port.
    public var preserveSource: Bool
    /// The interface that a kernel mode attaches to; always set in those modes.
    public var interface: String?
    /// Further destinations that a kernel mode serves; `.listed([])` in userspace.
    public var addresses = ServedAddresses.listed([])
    /// At least one, unless one of the three below is set; then none.
    public var downstreams: [DownstreamConfiguration]
    public var kubernetes: KubernetesConfiguration?
    public var file: FileConfiguration?
    public var dns: DNSQuery?
    /// The file's `settings`, overridden key by key by the listener's own.
    public var settings: ListenerSettings
    /// The keys of mode `xdp_nat`; the defaults in other modes.
    public var nat: NATSettings

    /// Of the listener's own settings; empty in a `Configuration`, which holds those of all listeners.
    var keptCapabilities: [KeptCapability] = []
    var modeOrigin = Origin.none

    public init(
        name: String, bind: Endpoint, mode: ForwardingMode = .userspace,
        balance: Balance = .roundRobin, interface: String? = nil,
        downstreams: [DownstreamConfiguration], settings: ListenerSettings = ListenerSettings(),
        nat: NATSettings = NATSettings()
    ) {
        self.name = name
        self.bind = bind
        self.mode = mode
        self.balance = balance
        preserveSource = mode.preservesSourceByDefault
        self.interface = interface
        self.downstreams = downstreams
        self.settings = settings
        self.nat = nat
    }

    init() { self.init(settings: ListenerSettings()) }

    init(settings: ListenerSettings) {
        self.init(
            name: "", bind: Endpoint(IPAddress(v4: 0), port: 0), downstreams: [], settings: settings
        )
    }

    /// Where to look up the receivers; nil: they are `downstreams`.
    public var discovery: ListenerDiscovery? {
        kubernetes?.discovery ?? file?.discovery
            ?? dns.map { ListenerDiscovery(receivers: .dns($0), port: .any) }
    }

    /// The listener for the data planes, without receivers from discovery.
    public var listener: Listener {
        Listener(
            name: name, bind: bind, mode: mode, balance: balance,
            payloadKey: payloadKey, preserveSource: preserveSource,
            downstreams: downstreams.map(\.downstream), settings: settings,
            interface: mode.needsInterface ? interface : nil, served: addresses,
            discovery: discovery, nat: nat)
    }
}

// Keys without a property of their own.
extension ListenerConfiguration {
    /// `bind`; nil if there are several ports, which `vip` and `ports` contain.
    var singleBind: Endpoint? {
        get { nat.furtherPorts.isEmpty ? bind : nil }
        set { if let newValue { bind = newValue } }
    }

    var vip: IPAddress? {
        get { nat.furtherPorts.isEmpty ? nil : bind.address }
        set { if let newValue { bind = Endpoint(newValue, port: bind.port) } }
    }

    var ports: [UInt16]? {
        get { nat.furtherPorts.isEmpty ? nil : [bind.port] + nat.furtherPorts }
        set {
            guard let newValue, let first = newValue.first else { return }
            bind = Endpoint(bind.address, port: first)
            nat.furtherPorts = Array(newValue.dropFirst())
        }
    }

    var settingsSection: SettingsSection {
        get { SettingsSection(listener: settings, keptCapabilities: keptCapabilities) }
        set { (settings, keptCapabilities) = (newValue.listener, newValue.keptCapabilities) }
    }

    /// The keys of mode `xdp_nat` only.
    static var natKeys: [PartialKeyPath<Self>] {
        [
            \.vip, \.ports, \.nat.transport, \.nat.isOneArm, \.nat.maxAssociations,
            \.nat.keepsUnansweredApart,
        ]
    }

    /// The keys for discovery, instead of `downstream`.
    static var lookups: [PartialKeyPath<Self>] { [\.kubernetes, \.file, \.dns] }
}

extension ForwardingMode {
    /// The default of `preserve_source`: the kernel modes rewrite only the destination, while userspace sends from
    /// its own socket.
    public var preservesSourceByDefault: Bool { self != .userspace }
}

/// One item of `listeners[].downstream`.
public struct DownstreamConfiguration: Equatable, Sendable {
    /// Unique within the listener, 1...128 bytes, no control characters.
    public var name: String
    /// Unique within the listener.
    public var address: Endpoint
    /// Share of new traffic relative to the others, 0...65535; 0 = draining.
    public var weight: UInt16 = 1
    /// Whether it is used only while no other receiver is ready.
    public var backup = false
    /// A legacy key: six bytes as `02:00:00:00:00:01`, checked and then ignored.
    public var mac: String?

    public init(name: String, address: Endpoint) {
        self.name = name
        self.address = address
    }

    init() { self.init(defaultPort: 0) }

    /// - Parameter defaultPort: the port of an address without one; 0 if a port is required.
    init(defaultPort: UInt16) {
        self.init(name: "", address: Endpoint(IPAddress(v4: 0), port: defaultPort))
    }

    /// The receiver for the data planes.
    public var downstream: Downstream {
        Downstream(name: name, endpoint: address, weight: weight, isBackup: backup)
    }
}

/// `listeners[].kubernetes`: the service whose ready endpoints are the receivers.
public struct KubernetesConfiguration: Equatable, Sendable {
    /// A DNS label (RFC 1123); nil = the pod's own namespace in a cluster, else `default`.
    public var namespace: String?
    /// A DNS label: the value of the label `kubernetes.io/service-name` on the endpoint slices.
    public var service: String
    /// A number, or the name of a port of the service: a DNS label.
    public var port: ReceiverPort
    /// Whether the listener also serves the addresses that a load balancer assigned to the service; false in
    /// userspace.
    public var vip = false

    public init(namespace: String? = nil, service: String, port: ReceiverPort) {
        self.namespace = namespace
        self.service = service
        self.port = port
    }

    init() { self.init(service: "", port: .any) }

    public var discovery: ListenerDiscovery {
        let name = DiscoverySubject.ServiceName(namespace: namespace, service: service)
        return ListenerDiscovery(
            receivers: .endpointSlices(name), port: port,
            addresses: vip ? .loadBalancer(name) : nil)
    }
}

/// `listeners[].file`: a file that lists the receivers.
public struct FileConfiguration: Equatable, Sendable {
    /// 1...512 bytes; relative to the working directory of the daemon.
    public var path: String
    /// The port of receivers without one, 1...65535; nil: each must have one.
    public var port: UInt16?

    public init(path: String, port: UInt16? = nil) {
        self.path = path
        self.port = port
    }

    init() { self.init(path: "") }

    public var discovery: ListenerDiscovery {
        ListenerDiscovery(receivers: .file(path: path, port: port), port: .any)
    }
}

/// `settings`, at the top or of a listener.
struct SettingsSection: Equatable, Sendable {
    var listener = ListenerSettings()
    /// The process keeps the capabilities of every section.
    var keptCapabilities: [KeptCapability] = []
}
