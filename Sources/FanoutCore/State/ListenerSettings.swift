// SPDX-License-Identifier: Apache-2.0

/// The knobs under `settings`, for the daemon or for one listener.
public struct ListenerSettings: Hashable, Sendable {
    /// Longest datagram that is forwarded, payload bytes, 1...65535. Longer ones are counted and dropped.
    public var maxPacketSize: Int
    /// How many downstreams the listener may have, 1...1024. Fixes the size of hash-keyed tables.
    public var maxDownstream: Int
    /// Messages that one receive call takes, 1...1024.
    public var batchSize: Int
    /// Worker threads and sockets, 0...256; 0 = one per CPU that the process may use.
    public var workers: Int
    /// Whether each worker stays on one CPU.
    public var pinCPUs: Bool
    /// Receive buffer of each socket in bytes; 0 = the system's default (`net.core.rmem_default`).
    public var receiveBufferBytes: Int
    /// Whether the listener may join an address that another process already serves.
    public var sharePort: Bool
    /// Who chooses the worker that gets a datagram.
    public var steer: Steer
    /// How `tc_ebpf` hooks into the interface.
    public var tcAttach: TCAttach
    /// Mixed into hash-keyed flow keys. Hosts with one seed and the same receivers choose alike.
    public var seed: UInt64
    /// Where `af_xdp` and `xdp_nat` meet packets.
    public var xdpMode: XDPAttach
    /// Whether the workers of `af_xdp` poll the device all the time rather than sleep.
    public var busyPoll: Bool
    /// Over how many seconds the share of a receiver rises that comes or is ready again, 0...3600; 0: it has all
    /// of it at once.
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

/// Who chooses the worker that gets a datagram. The raw value is the spelling in YAML and logs.
///
/// This is not `Balance`: whichever worker has a datagram, the receiver is the one that the slot
/// table names.
public enum Steer: String, CaseIterable, Hashable, Sendable {
    /// All datagrams of one source address meet one worker, which keeps them in their order.
    case sourceIP = "source_ip"
    /// The kernel, by a hash of both addresses and both ports: a source with many ports meets many
    /// workers.
    case kernel
}

/// How `tc_ebpf` hooks into an interface. The raw value is the spelling in YAML and logs.
public enum TCAttach: String, CaseIterable, Hashable, Sendable {
    /// TCX where the kernel has it, else clsact.
    case auto
    /// A link at the TCX hook (Linux 6.6), which other tools' programs stand beside.
    case tcx
    /// A filter of a clsact queueing discipline, which `tc filter show` lists.
    case clsact
}

/// Where a mode that uses XDP meets packets on an interface. The raw value is the spelling in YAML and
/// logs.
public enum XDPAttach: String, CaseIterable, Hashable, Sendable {
    /// In the driver, and where that refuses in the network stack. For `xdp_nat` on a veth in the stack
    /// at once: what a driver's program sends there is lost unless the other end has XDP or GRO.
    case auto
    /// In the driver, before the kernel makes anything of a packet, or not at all.
    case native
    /// In the network stack: on every interface, and slower.
    case skb
}

/// What a listener of mode `xdp_nat` has beside what every listener has.
public struct NATSettings: Hashable, Sendable {
    /// The most associations that can be asked for.
    public static let associationsLimit = 1 << 26

    /// Ports that are served beside that of `bind`. On each a receiver is met at the same port, unless
    /// it was written with another than that of `bind`.
    public var furtherPorts: [UInt16]
    public var transport: NATTransport
    /// Whether clients and servers are behind one gateway, so that a packet goes back where it came
    /// from; otherwise the kernel's routes say where.
    public var isOneArm: Bool
    /// How many clients are remembered, rounded up to a power of two, 1...`associationsLimit`. One
    /// number for all listeners of the mode: the largest.
    public var maxAssociations: Int
    /// Whether clients that no server has answered are remembered apart from the others, so that a
    /// flood of them evicts no others.
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

/// What `xdp_nat` translates. The raw value is the spelling in YAML.
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
