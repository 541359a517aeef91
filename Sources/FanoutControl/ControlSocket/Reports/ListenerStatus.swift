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
    /// The bytes of `balance: payload`, such as `offset=4,length=8`; nil with another balance.
    public var payloadKey: String?
    /// The interface of a kernel mode.
    public var interface: String?
    /// Threads, in modes that have some; otherwise 0.
    public var workers: Int
    public var packetsReceived: UInt64
    public var bytesReceived: UInt64
    public var packetsForwarded: UInt64
    public var bytesForwarded: UInt64
    public var packetsDropped: UInt64
    /// Drops by reason; only reasons that occurred.
    public var drops: [String: UInt64]
    /// Dropped by the kernel before they could be received.
    public var kernelDrops: UInt64
    /// Replies of receivers that were dropped, since the listener is one-way; nil if none reach the daemon.
    public var repliesDropped: UInt64?
    public var rates: RateStatus
    public var receivers: [ReceiverStatus]
}

/// One receiver of a listener at one moment.
public struct ReceiverStatus: Codable, Equatable, Sendable {
    public var name: String
    public var address: String
    public var state: ReceiverState
    /// By its probes; nil if it is not probed.
    public var healthy: Bool?
    /// The weight in the configuration.
    public var weight: UInt16
    /// The active weight; 0 while the receiver is drained, unhealthy or on standby.
    public var weightInForce: UInt16
    public var packetsForwarded: UInt64
    public var bytesForwarded: UInt64
    public var packetsDropped: UInt64
    /// ICMP errors in response to datagrams for it.
    public var refusals: UInt64
    public var rates: RateStatus

    /// Its state in a word; refusing datagrams takes precedence over ready.
    public var word: String {
        state == .ready && rates.refusals != nil ? "refuses" : state.rawValue
    }
}

/// Rates per second, averaged over the last seconds; rounded to a tenth.
public struct RateStatus: Codable, Equatable, Sendable {
    public var packetsReceived: Double
    public var bytesReceived: Double
    public var packetsForwarded: Double
    public var bytesForwarded: Double
    public var packetsDropped: Double
    /// For a receiver that refuses datagrams; otherwise nil.
    public var refusals: Double?

    init(_ rates: Rates) {
        func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }
        packetsReceived = rounded(rates.packetsReceived)
        bytesReceived = rounded(rates.bytesReceived)
        packetsForwarded = rounded(rates.packetsForwarded)
        bytesForwarded = rounded(rates.bytesForwarded)
        packetsDropped = rounded(rates.packetsDropped)
        if rates.refusals > 0 { refusals = max(0.1, rounded(rates.refusals)) }
    }
}

extension ListenerStatus {
    /// - Parameters:
    ///   - configured: the listener before drains and slow start, for the configured weights.
    ///   - counters: nil: its plane has none yet.
    init(
        _ listener: Listener, configured: Listener?, _ counters: ListenerCounters?,
        in snapshot: DaemonSnapshot
    ) {
        let own = counters ?? ListenerCounters(listener: listener.name, mode: listener.mode)
        name = listener.name
        bind = "\(listener.bind)"
        ports = listener.ports.count > 1 ? listener.ports : nil
        mode = listener.mode.rawValue
        balance = listener.balance.rawValue
        payloadKey = listener.payloadKey.map { "\($0)" }
        interface = listener.interface
        workers = own.workers
        packetsReceived = own.packetsReceived
        bytesReceived = own.bytesReceived
        packetsForwarded = own.packetsForwarded
        bytesForwarded = own.bytesForwarded
        packetsDropped = own.packetsDropped
        drops = Dictionary(
            uniqueKeysWithValues: own.drops.filter { $0.value > 0 }
                .map { ($0.key.rawValue, $0.value) })
        kernelDrops = own.kernelDrops
        repliesDropped = own.repliesDropped
        rates = RateStatus(snapshot.meter.rates(of: listener.name))
        let weights = Dictionary(
            (configured ?? listener).downstreams.map { ($0.endpoint, $0.weight) }
        ) { $1 }
        let counts = Dictionary(own.downstreams.map { ($0.endpoint, $0) }) { $1 }
        let known = listener.downstreams.map { downstream in
            var own = counts[downstream.endpoint] ?? DownstreamCounters(downstream)
            (own.weight, own.isReady) = (downstream.weight, downstream.isReady)
            return own
        }
        receivers = zip(listener.downstreams, snapshot.receivers(known, of: listener.name)).map {
            ReceiverStatus($0, weight: weights[$0.endpoint] ?? $0.weight, $1)
        }
    }
}

extension ReceiverStatus {
    fileprivate init(_ downstream: Downstream, weight: UInt16, _ snapshot: ReceiverSnapshot) {
        let counters = snapshot.counters
        name = downstream.name
        address = "\(downstream.endpoint)"
        state = snapshot.state
        healthy = snapshot.isHealthy
        self.weight = weight
        weightInForce = downstream.isReady ? downstream.weight : 0
        packetsForwarded = counters.packetsForwarded
        bytesForwarded = counters.bytesForwarded
        packetsDropped = snapshot.packetsDropped
        refusals = counters.refusals
        rates = RateStatus(snapshot.rates)
    }
}
