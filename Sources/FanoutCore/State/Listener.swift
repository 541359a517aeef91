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
    /// Its slot table, once built.
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
    func having(_ table: SlotTable) -> Listener {
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

extension Listener {
    /// The ports that it serves; several in mode `xdp_nat` alone.
    public var ports: [UInt16] { [bind.port] + nat.furtherPorts }

    /// Its address with every port, such as `192.0.2.1:1812,1813`.
    public var place: String {
        "\(bind)" + nat.furtherPorts.map { ",\($0)" }.joined()
    }

    /// Where a receiver is met by clients of `port`.
    public func endpoint(of downstream: Downstream, at port: UInt16) -> Endpoint {
        let own = downstream.endpoint
        return own.port == bind.port ? Endpoint(own.address, port: port) : own
    }
}

/// `listeners[].addresses`: destinations that a kernel mode serves besides those of `bind`.
public enum ServedAddresses: Hashable, Sendable {
    /// These as well, such as a virtual address that no interface has.
    case listed([IPAddress])
    /// Every destination on the port, traffic in transit included.
    case any
}

/// Which data plane carries a listener's datagrams. The raw value is the spelling in YAML and metrics.
public enum ForwardingMode: String, CaseIterable, Hashable, Sendable {
    /// Sockets: recvmmsg and sendmmsg with GRO and GSO. Needs no privilege.
    case userspace
    /// The TC ingress hook: rewrite and redirect in the kernel.
    case tcEBPF = "tc_ebpf"
    /// AF_XDP sockets on every receive queue.
    case afXDP = "af_xdp"
    /// XDP with network address translation and associations in both directions.
    case xdpNAT = "xdp_nat"

    /// Kernel modes hook into an interface and must be told which.
    public var needsInterface: Bool { self != .userspace }
    /// Whether it has a program at the XDP hook, of which an interface has one.
    public var hooksXDP: Bool { self == .afXDP || self == .xdpNAT }
    /// Whether the kernel forwards on while no daemon runs.
    public var outlivesDaemon: Bool { self == .tcEBPF || self == .xdpNAT }
}

/// A receiver of one listener's datagrams.
public struct Downstream: Hashable, Sendable {
    /// Unique within the listener; the metric label `downstream`.
    public let name: String
    /// Unique within the listener; what hash-keyed tables know it by.
    public let endpoint: Endpoint
    /// Its share of new traffic relative to the others, 0...65535; 0 = draining.
    public let weight: UInt16
    /// Whether it gets new traffic at all; false while health checks keep it out.
    public var isEnabled: Bool
    /// How many tenths of its weight count in slot tables by now, 1...10; less than all while `SlowStart` has its
    /// share rise.
    public var warmth = Downstream.warm

    /// All of the tenths.
    public static let warm = 10

    public init(name: String, endpoint: Endpoint, weight: UInt16 = 1, isEnabled: Bool = true) {
        self.name = name
        self.endpoint = endpoint
        self.weight = weight
        self.isEnabled = isEnabled
    }

    /// Within a listener that is all that tells one from another.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(endpoint)
        hasher.combine(weight)
    }

    /// Whether it has a share of new traffic.
    public var isReady: Bool { isEnabled && weight > 0 }
}

/// Whether a receiver gets new traffic, and why not: what every report about it says.
public enum ReceiverState: String, CaseIterable, Codable, Hashable, Sendable {
    case ready
    /// By hand: `udp-fanout drain`.
    case drained
    /// Its weight in the configuration is 0.
    case weightZero = "weight_zero"
    /// By its probes.
    case unhealthy
    /// It has a share of new traffic, which is dropped: nothing gets to it.
    case outOfReach = "out_of_reach"

    /// - Parameters:
    ///   - weight: the active weight.
    ///   - isReady: whether it has a share of new traffic.
    ///   - isDrained: whether an operator has drained it.
    ///   - isWithinReach: whether anything gets to it.
    public init(weight: UInt16, isReady: Bool, isDrained: Bool, isWithinReach: Bool) {
        self =
            isDrained
            ? .drained
            : weight == 0
                ? .weightZero : !isReady ? .unhealthy : isWithinReach ? .ready : .outOfReach
    }
}
