// SPDX-License-Identifier: Apache-2.0

/// The settings of `settings`, for the daemon or for one listener.
public struct ListenerSettings: Hashable, Sendable {
    /// Longest datagram to forward, payload bytes, 1...65535. Longer ones are dropped and counted.
    public var maxPacketSize: Int
    /// How many receivers the listener may have, 1...1024. Determines the size of hash-keyed tables.
    public var maxDownstream: Int
    /// Messages per receive call, 1...1024.
    public var batchSize: Int
    /// Worker threads and sockets, 0...256; 0 = one per CPU that the process may use.
    public var workers: Int
    /// Whether each worker is pinned to one CPU.
    public var pinCPUs: Bool
    /// Receive buffer of each socket in bytes; 0 = the system's default (`net.core.rmem_default`).
    public var receiveBufferBytes: Int
    /// Whether the listener may share an address with another process.
    public var sharePort: Bool
    /// How datagrams are distributed over workers.
    public var steer: Steer
    /// How `tc_ebpf` attaches to the interface.
    public var tcAttach: TCAttach
    /// Mixed into hash-based flow keys. Hosts with the same seed and receivers choose alike.
    public var seed: UInt64
    /// Where `af_xdp` and `xdp_nat` attach.
    public var xdpMode: XDPAttach
    /// Whether `af_xdp` workers poll the device all the time instead of sleeping.
    public var busyPoll: Bool
    /// Seconds in which the share of a new or recovered receiver rises to its full weight, 0...3600; 0: full weight
    /// at once.
    public var slowStartSeconds: Int

    public init(
        maxPacketSize: Int = 9000, maxDownstream: Int = 64, batchSize: Int = 32, workers: Int = 0,
        pinCPUs: Bool = true, receiveBufferBytes: Int = 0, sharePort: Bool = false,
        steer: Steer = .sourceIP, tcAttach: TCAttach = .auto, seed: UInt64 = 0,
        xdpMode: XDPAttach = .auto, busyPoll: Bool = false, slowStartSeconds: Int = 0
    ) {
        self.maxPacketSize = maxPacketSize
        self.maxDownstream = maxDownstream
        self.batchSize = batchSize
        self.workers = workers
        self.pinCPUs = pinCPUs
        self.receiveBufferBytes = receiveBufferBytes
        self.sharePort = sharePort
        self.steer = steer
        self.tcAttach = tcAttach
        self.seed = seed
        self.xdpMode = xdpMode
        self.busyPoll = busyPoll
        self.slowStartSeconds = slowStartSeconds
    }
}

/// How datagrams are distributed over workers. The raw value is the spelling in YAML and logs.
///
/// Unlike `Balance`, it does not affect the receiver: the slot table determines it, whichever worker has the
/// datagram.
public enum Steer: String, CaseIterable, Hashable, Sendable {
    /// All datagrams of one source address go to one worker, which keeps their order.
    case sourceIP = "source_ip"
    /// The kernel chooses by a hash of both addresses and both ports: a source with many ports uses many workers.
    case kernel
    /// The worker of the CPU that took the packet: the CPU modulo the workers. A source keeps its order while the card
    /// gives its packets to one CPU, as RSS by addresses does.
    case cpu
}

/// How `tc_ebpf` attaches to an interface. The raw value is the spelling in YAML and logs.
public enum TCAttach: String, CaseIterable, Hashable, Sendable {
    /// TCX if the kernel supports it, otherwise clsact.
    case auto
    /// A link at the TCX hook (Linux 6.6), beside programs of other tools.
    case tcx
    /// A filter of a clsact queueing discipline, which `tc filter show` lists.
    case clsact
}

/// Where a mode that uses XDP attaches to an interface. The raw value is the spelling in YAML and logs.
public enum XDPAttach: String, CaseIterable, Hashable, Sendable {
    /// In the driver, and if the driver refuses, in the network stack. For `xdp_nat` on a veth in the stack at
    /// once: what a program in the driver sends there is lost unless the peer has XDP or GRO.
    case auto
    /// In the driver, before the kernel allocates a packet, or not at all.
    case native
    /// In the network stack: works on every interface, but slower.
    case skb
}

/// Further settings of a listener of mode `xdp_nat`.
public struct NATSettings: Hashable, Sendable {
    /// The maximum of `maxAssociations`.
    public static let associationsLimit = 1 << 26

    /// Ports that are served besides that of `bind`. A receiver gets datagrams at the same port, unless its
    /// configured port differs from that of `bind`.
    public var furtherPorts: [UInt16]
    public var transport: NATTransport
    /// Whether clients and servers are behind one gateway, so that a packet goes back where it came from; otherwise
    /// the kernel's routes decide.
    public var isOneArm: Bool
    /// Maximum number of associations, rounded up to a power of two, 1...`associationsLimit`. All listeners of the
    /// mode share the largest value.
    public var maxAssociations: Int
    /// Whether clients that no server has answered are stored separately, so that a flood of them evicts no others.
    public var keepsUnansweredApart: Bool

    public init(
        furtherPorts: [UInt16] = [], transport: NATTransport = .udp, isOneArm: Bool = false,
        maxAssociations: Int = 1 << 20, keepsUnansweredApart: Bool = true
    ) {
        self.furtherPorts = furtherPorts
        self.transport = transport
        self.isOneArm = isOneArm
        self.maxAssociations = maxAssociations
        self.keepsUnansweredApart = keepsUnansweredApart
    }
}

/// The protocols that `xdp_nat` translates. The raw value is the spelling in YAML.
public enum NATTransport: String, CaseIterable, Hashable, Sendable {
    case udp, tcp, both

    /// The protocol numbers (IANA).
    public var numbers: [UInt8] {
        switch self {
        case .udp: [17]
        case .tcp: [6]
        case .both: [17, 6]
        }
    }
}
