// SPDX-License-Identifier: Apache-2.0

/// An address that receives datagrams, and the receivers that they are forwarded to.
public struct Listener: Hashable, Sendable {
    /// Unique in the daemon; the metric label `listener`.
    public var name: String
    public var bind: Endpoint
    public var mode: ForwardingMode
    public var balance: Balance { didSet { built = BuiltTable() } }
    /// The bytes of `balance: payload`; nil with another balance.
    public var payloadKey: PayloadKey?
    /// Whether receivers see the client's address and port as the source.
    public var preserveSource: Bool
    /// With `discovery`: the receivers found so far.
    public var downstreams: [Downstream] { didSet { built = BuiltTable() } }
    public var settings: ListenerSettings { didSet { built = BuiltTable() } }
    /// The interface that a kernel mode attaches to; nil in userspace.
    public var interface: String?
    /// Destinations that a kernel mode serves besides `bind`.
    public var served = ServedAddresses.listed([])
    /// Where to look up the receivers; nil: the configuration lists them.
    public var discovery: ListenerDiscovery?
    /// Settings of mode `xdp_nat`; ignored by other modes.
    public var nat = NATSettings()
    /// Its slot table, once built.
    private var built = BuiltTable()

    public init(
        name: String, bind: Endpoint, mode: ForwardingMode = .userspace,
        balance: Balance = .roundRobin, payloadKey: PayloadKey? = nil, preserveSource: Bool = false,
        downstreams: [Downstream], settings: ListenerSettings = ListenerSettings(),
        interface: String? = nil, served: ServedAddresses = .listed([]),
        discovery: ListenerDiscovery? = nil, nat: NATSettings = NATSettings()
    ) {
        self.name = name
        self.bind = bind
        self.mode = mode
        self.balance = balance
        self.payloadKey = payloadKey
        self.preserveSource = preserveSource
        self.downstreams = downstreams
        self.settings = settings
        self.interface = interface
        self.served = served
        self.discovery = discovery
        self.nat = nat
    }

    /// The slot table for the current receivers and weights: the one that was set, otherwise built at each call.
    public var slotTable: SlotTable { built.table ?? tableOrigin.table }

    /// The input of its slot table.
    public var tableOrigin: TableOrigin {
        TableOrigin(balance, downstreams, capacity: settings.maxDownstream)
    }

    /// The table that was set, unless the listener has changed since.
    var tableAtHand: SlotTable? { built.table }

    /// The same listener with its slot table set, until it is changed.
    ///
    /// - Parameter table: the table of its `tableOrigin`.
    func having(_ table: SlotTable) -> Listener {
        var result = self
        result.built = BuiltTable(table: table)
        return result
    }

    /// Whether `other` can take over this listener's sockets unchanged: only receivers and weights may differ.
    public func sharesSockets(with other: Listener) -> Bool {
        bind == other.bind && mode == other.mode && balance == other.balance
            && payloadKey == other.payloadKey && preserveSource == other.preserveSource
            && settings == other.settings
            && interface == other.interface && served == other.served && nat == other.nat
    }
}

extension Listener {
    /// The ports that it serves; several only in mode `xdp_nat`.
    public var ports: [UInt16] { [bind.port] + nat.furtherPorts }

    /// Its address with every port, such as `192.0.2.1:1812,1813`.
    public var place: String {
        "\(bind)" + nat.furtherPorts.map { ",\($0)" }.joined()
    }

    /// The address of a receiver for clients of `port`.
    public func endpoint(of downstream: Downstream, at port: UInt16) -> Endpoint {
        let own = downstream.endpoint
        return own.port == bind.port ? Endpoint(own.address, port: port) : own
    }
}

/// `listeners[].addresses`: destinations that a kernel mode serves besides `bind`.
public enum ServedAddresses: Hashable, Sendable {
    /// Further addresses, such as a virtual address that no interface has.
    case listed([IPAddress])
    /// Every destination on the port, including transit traffic.
    case any
}

/// The data plane of a listener. The raw value is the spelling in YAML and metrics.
public enum ForwardingMode: String, CaseIterable, Hashable, Sendable {
    /// Sockets: recvmmsg and sendmmsg with GRO and GSO. Needs no privilege.
    case userspace
    /// The TC ingress hook: rewrite and redirect in the kernel.
    case tcEBPF = "tc_ebpf"
    /// AF_XDP sockets on every receive queue.
    case afXDP = "af_xdp"
    /// XDP with network address translation and associations in both directions.
    case xdpNAT = "xdp_nat"

    /// Kernel modes attach to an interface.
    public var needsInterface: Bool { self != .userspace }
    /// Whether it uses the XDP hook. An interface has one.
    public var hooksXDP: Bool { self == .afXDP || self == .xdpNAT }
    /// Whether the kernel continues to forward while no daemon runs.
    public var outlivesDaemon: Bool { self == .tcEBPF || self == .xdpNAT }
}

/// A receiver of one listener's datagrams.
public struct Downstream: Hashable, Sendable {
    /// Unique within the listener; the metric label `downstream`.
    public let name: String
    /// Unique within the listener; identifies it in hash-keyed tables.
    public let endpoint: Endpoint
    /// Its share of new traffic relative to the others, 0...65535; 0 = draining.
    public let weight: UInt16
    /// Whether it gets new traffic at all; false while it is unhealthy.
    public var isEnabled: Bool
    /// Whether it gets new traffic only while no other receiver of the listener can.
    public let isBackup: Bool
    /// Whether it is a backup that is not needed now (`DesiredState.withStandbys`).
    public var isOnStandby = false
    /// How many tenths of its weight count in slot tables, 1...10; fewer than 10 while `SlowStart` raises its
    /// share.
    public var warmth = Downstream.warm

    /// The full weight.
    public static let warm = 10

    public init(
        name: String, endpoint: Endpoint, weight: UInt16 = 1, isEnabled: Bool = true,
        isBackup: Bool = false
    ) {
        self.name = name
        self.endpoint = endpoint
        self.weight = weight
        self.isEnabled = isEnabled
        self.isBackup = isBackup
    }

    /// Endpoint and weight distinguish the receivers of a listener.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(endpoint)
        hasher.combine(weight)
    }

    /// Whether it has a share of new traffic.
    public var isReady: Bool { isEnabled && weight > 0 && !isOnStandby }
}

/// Whether a receiver gets new traffic, and why not, as in every report.
public enum ReceiverState: String, CaseIterable, Codable, Hashable, Sendable {
    case ready
    /// By an operator: `udp-fanout drain`.
    case drained
    /// Its weight in the configuration is 0.
    case weightZero = "weight_zero"
    /// It is a backup, and another receiver is ready.
    case standby
    /// By its probes.
    case unhealthy
    /// It has a share of new traffic, but nothing gets to it, so that share is dropped.
    case outOfReach = "out_of_reach"

    /// - Parameters:
    ///   - weight: the active weight.
    ///   - isReady: whether it has a share of new traffic.
    ///   - isOnStandby: whether it is a backup that is not needed now.
    ///   - isDrained: whether an operator has drained it.
    ///   - isWithinReach: whether anything gets to it.
    public init(
        weight: UInt16, isReady: Bool, isOnStandby: Bool, isDrained: Bool, isWithinReach: Bool
    ) {
        self =
            isDrained
            ? .drained
            : weight == 0
                ? .weightZero
                : isOnStandby
                    ? .standby : !isReady ? .unhealthy : isWithinReach ? .ready : .outOfReach
    }
}

extension DesiredState {
    /// The state in which backups are on standby as long as another receiver of their listener gets new traffic.
    public func withStandbys() -> DesiredState {
        DesiredState(
            listeners: listeners.map { listener in
                guard listener.downstreams.contains(where: \.isBackup) else { return listener }
                let isServed = listener.downstreams.contains {
                    !$0.isBackup && $0.isEnabled && $0.weight > 0
                }
                var listener = listener
                for index in listener.downstreams.indices {
                    let downstream = listener.downstreams[index]
                    listener.downstreams[index].isOnStandby =
                        isServed && downstream.isBackup && downstream.isEnabled
                }
                return listener
            })
    }
}
