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
