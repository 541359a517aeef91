// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// One listener at one moment.
public struct ListenerStatus: Codable, Equatable, Sendable {
    public var name: String
    public var bind: String
    /// Every port, where there are several.
    public var ports: [UInt16]?
    public var mode: String
    public var balance: String
    /// The interface of a kernel mode.
    public var interface: String?
    /// Threads of a mode that has some, else 0.
    public var workers: Int
    public var packetsReceived: UInt64
    public var bytesReceived: UInt64
    public var packetsForwarded: UInt64
    public var bytesForwarded: UInt64
    public var packetsDropped: UInt64
    /// Drops by reason, those that have happened.
    public var drops: [String: UInt64]
    /// Thrown away by the kernel before they could be received.
    public var kernelDrops: UInt64
    /// Sent back by receivers and dropped, since the listener forwards one way; nil where none come to the daemon.
    public var repliesDropped: UInt64?
    public var rates: RateStatus
    public var receivers: [ReceiverStatus]

    public init(
        name: String, bind: String, ports: [UInt16]? = nil, mode: String, balance: String,
        interface: String?,
        workers: Int, packetsReceived: UInt64, bytesReceived: UInt64, packetsForwarded: UInt64,
        bytesForwarded: UInt64, packetsDropped: UInt64, drops: [String: UInt64],
        kernelDrops: UInt64, repliesDropped: UInt64?, rates: RateStatus,
        receivers: [ReceiverStatus]
    ) {
        self.name = name
        self.bind = bind
        self.ports = ports
        self.mode = mode
        self.balance = balance
        self.interface = interface
        self.workers = workers
        self.packetsReceived = packetsReceived
        self.bytesReceived = bytesReceived
        self.packetsForwarded = packetsForwarded
        self.bytesForwarded = bytesForwarded
        self.packetsDropped = packetsDropped
        self.drops = drops
        self.kernelDrops = kernelDrops
        self.repliesDropped = repliesDropped
        self.rates = rates
        self.receivers = receivers
    }
}

/// One receiver of a listener at one moment.
public struct ReceiverStatus: Codable, Equatable, Sendable {
    public var name: String
    public var address: String
    public var state: ReceiverState
    /// By its probes; nil when it is not probed.
    public var healthy: Bool?
    /// As the configuration has it.
    public var weight: UInt16
    /// In force; 0 while it is drained, or kept out by its probes.
    public var weightInForce: UInt16
    public var packetsForwarded: UInt64
    public var bytesForwarded: UInt64
    public var packetsDropped: UInt64
    /// ICMP errors that said that datagrams do not get through to it.
    public var refusals: UInt64
    public var rates: RateStatus

    /// Its state in a word: whether it refuses datagrams at present says more than that it is ready.
    public var word: String {
        state == .ready && rates.refusals != nil ? "refuses" : state.rawValue
    }

    public init(
        name: String, address: String, state: ReceiverState, healthy: Bool?, weight: UInt16,
        weightInForce: UInt16, packetsForwarded: UInt64, bytesForwarded: UInt64,
        packetsDropped: UInt64, refusals: UInt64, rates: RateStatus
    ) {
        self.name = name
        self.address = address
        self.state = state
        self.healthy = healthy
        self.weight = weight
        self.weightInForce = weightInForce
        self.packetsForwarded = packetsForwarded
        self.bytesForwarded = bytesForwarded
        self.packetsDropped = packetsDropped
        self.refusals = refusals
        self.rates = rates
    }
}

/// What happens a second, on the average of the last few; to a tenth.
public struct RateStatus: Codable, Equatable, Sendable {
    public var packetsReceived: Double
    public var bytesReceived: Double
    public var packetsForwarded: Double
    public var bytesForwarded: Double
    public var packetsDropped: Double
    /// Of a receiver that refuses datagrams; else nil.
    public var refusals: Double?

    public init(_ rates: Rates) {
        func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }
        packetsReceived = rounded(rates.packetsReceived)
        bytesReceived = rounded(rates.bytesReceived)
        packetsForwarded = rounded(rates.packetsForwarded)
        bytesForwarded = rounded(rates.bytesForwarded)
        packetsDropped = rounded(rates.packetsDropped)
        if rates.refusals > 0 { refusals = max(0.1, rounded(rates.refusals)) }
    }
}
