// SPDX-License-Identifier: Apache-2.0

/// One address on which datagrams arrive, and who receives them.
public struct Listener: Hashable, Sendable {
    /// Unique in the daemon; the metric label `listener`.
    public var name: String
    public var bind: Endpoint
    public var mode: ForwardingMode
    public var balance: Balance
    /// Whether receivers see the client's address and port as the source.
    public var preserveSource: Bool
    /// With `discovery`: those found so far.
    public var downstreams: [Downstream]
    public var settings: ListenerSettings
    /// The interface that a kernel mode hooks into; nil in userspace.
    public var interface: String?
    /// Destinations that a kernel mode serves besides `bind`.
    public var served = ServedAddresses.listed([])
    /// Where the receivers come from; nil: they are those of the configuration.
    public var discovery: ListenerDiscovery?
    /// What the mode `xdp_nat` alone has; other modes do not look at it.
    public var nat = NATSettings()

    public init(
        name: String, bind: Endpoint, mode: ForwardingMode = .userspace,
        balance: Balance = .roundRobin, preserveSource: Bool = false,
        downstreams: [Downstream], settings: ListenerSettings = ListenerSettings(),
        interface: String? = nil, served: ServedAddresses = .listed([]),
        discovery: ListenerDiscovery? = nil, nat: NATSettings = NATSettings()
    ) {
        self.name = name
        self.bind = bind
        self.mode = mode
        self.balance = balance
        self.preserveSource = preserveSource
        self.downstreams = downstreams
        self.settings = settings
        self.interface = interface
        self.served = served
        self.discovery = discovery
        self.nat = nat
    }

    /// Who owns each slot, for the downstreams and weights as they stand.
    public var slotTable: SlotTable {
        balance.slotTable(for: downstreams, capacity: settings.maxDownstream)
    }

    /// Whether `other` can take over this listener's sockets as they are: only who receives, and in
    /// what proportion, may differ.
    public func sharesSockets(with other: Listener) -> Bool {
        bind == other.bind && mode == other.mode && balance == other.balance
            && preserveSource == other.preserveSource && settings == other.settings
            && interface == other.interface && served == other.served && nat == other.nat
    }
}
