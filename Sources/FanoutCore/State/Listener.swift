// SPDX-License-Identifier: Apache-2.0

/// One address on which datagrams arrive, and who receives them.
public struct Listener: Hashable, Sendable {
    /// Unique in the daemon; the metric label `listener`.
    public var name: String
    public var bind: Endpoint
    public var mode: ForwardingMode
    public var balance: Balance { didSet { built = BuiltTable() } }
    /// Whether receivers see the client's address and port as the source.
    public var preserveSource: Bool
    /// With `discovery`: those found so far.
    public var downstreams: [Downstream] { didSet { built = BuiltTable() } }
    public var settings: ListenerSettings { didSet { built = BuiltTable() } }
    /// The interface that a kernel mode hooks into; nil in userspace.
    public var interface: String?
    /// Destinations that a kernel mode serves besides `bind`.
    public var served = ServedAddresses.listed([])
    /// Where the receivers come from; nil: they are those of the configuration.
    public var discovery: ListenerDiscovery?
    /// What the mode `xdp_nat` alone has; other modes do not look at it.
    public var nat = NATSettings()
    /// Its slot table, when somebody has built it.
    private var built = BuiltTable()

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

    /// Who owns each slot, for the downstreams and weights as they stand. The one that it was given, or one that
    /// is built at each call.
    public var slotTable: SlotTable { built.table ?? tableOrigin.table }

    /// What its slot table is made from.
    public var tableOrigin: TableOrigin {
        TableOrigin(balance, downstreams, capacity: settings.maxDownstream)
    }

    /// The table that it was given, unless it was altered since.
    var tableAtHand: SlotTable? { built.table }

    /// The same listener, which has its table at hand until it is altered.
    ///
    /// - Parameter table: that of its `tableOrigin`.
    func bearing(_ table: SlotTable) -> Listener {
        var result = self
        result.built = BuiltTable(table: table)
        return result
    }

    /// Whether `other` can take over this listener's sockets as they are: only who receives, and in
    /// what proportion, may differ.
    public func sharesSockets(with other: Listener) -> Bool {
        bind == other.bind && mode == other.mode && balance == other.balance
            && preserveSource == other.preserveSource && settings == other.settings
            && interface == other.interface && served == other.served && nat == other.nat
    }
}
