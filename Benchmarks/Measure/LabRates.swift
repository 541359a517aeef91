// SPDX-License-Identifier: Apache-2.0

/// The rates at a receiver over veths from one sender that saturates its CPU, for each forwarder.
public struct LabRates: Sendable {
    /// Where the receiver is, which decides how the daemon sends.
    public enum Place: String, CaseIterable, Sendable {
        /// At the other end of a veth: bpf_redirect_peer.
        case sameHost = "same host"
        /// Anywhere else, here behind a bridge: bpf_redirect_neigh.
        case elsewhere = "behind a bridge"

        /// Why a flood did not take the measured path; empty when it did.
        ///
        /// - Parameter sent: packets sent on the interface to the receiver meanwhile; bpf_redirect_peer does not count
        ///   there.
        public func doubts(of flood: Flood, sent: Int) -> [String] {
            let isPeer = sent < flood.arrivedInAll / 100
            guard isPeer != (self == .sameHost) else { return [] }
            return ["\(sent) of \(flood.arrivedInAll) packets were sent by the interface"]
        }
    }

    /// The forwarders.
    public enum Forwarder: String, CaseIterable, Sendable {
        /// A program that calls the redirect helper and does nothing else.
        case bare = "bare redirect"
        /// Destination NAT with connection tracking.
        case nftables = "nftables DNAT"
        /// The daemon in mode `tc_ebpf`.
        case daemon = "udp-fanout"
    }

    /// One flood.
    public struct Flood: Equatable, Sendable {
        /// Measured time in ns.
        public let nanoseconds: Int
        /// Datagrams that reached the receiver in that time.
        public let arrived: Int
        /// Datagrams that the sender's kernel took, warm-up included.
        public let sentInAll: Int
        /// Datagrams that reached the receiver, warm-up included.
        public let arrivedInAll: Int

        /// - Parameters: as the properties.
        public init(nanoseconds: Int, arrived: Int, sentInAll: Int, arrivedInAll: Int) {
            self.nanoseconds = nanoseconds
            self.arrived = arrived
            self.sentInAll = sentInAll
            self.arrivedInAll = arrivedInAll
        }

        /// Nanoseconds from one arrival to the next; infinite when there was none.
        public var interval: Double {
            arrived == 0 ? .infinity : Double(nanoseconds) / Double(arrived)
        }

        /// Datagrams that did not reach the receiver.
        public var lost: Int { sentInAll - arrivedInAll }

        /// Why the flood is no valid measurement; empty when it is.
        public var doubts: [String] {
            if arrived == 0 { return ["nothing arrived"] }
            return lost < 0 ? ["\(arrivedInAll) arrived of \(sentInAll) sent"] : []
        }

        /// The flood as a sample, to compare with the counters.
        public var sample: Sample {
            Sample(
                arrived: arrived, cpuNanoseconds: 0, sentInAll: sentInAll,
                perSinkInAll: [arrivedInAll])
        }
    }

    private var floods: [Place: [Forwarder: [Flood]]] = [:]

    /// No flood yet.
    public init() {}

    /// Adds the flood of one round.
    public mutating func add(_ flood: Flood, of forwarder: Forwarder, at place: Place) {
        floods[place, default: [:]][forwarder, default: []].append(flood)
    }

    /// The floods in the order of the rounds.
    public func floods(of forwarder: Forwarder, at place: Place) -> [Flood] {
        floods[place]?[forwarder] ?? []
    }

    /// The daemon's rate divided by the other's, in pairs of one round; nil without such a pair.
    public func ratio(to other: Forwarder, at place: Place) -> Spread? {
        Spread(
            zip(floods(of: other, at: place), floods(of: .daemon, at: place)).map { other, daemon in
                other.interval / daemon.interval
            })
    }

    /// The least ``ratio(to:at:)`` that the project promises; nil for the daemon itself.
    public static func promise(to other: Forwarder, at place: Place) -> Double? {
        switch (other, place) {
        case (.bare, .sameHost): 0.80
        case (.bare, .elsewhere): 0.85
        case (.nftables, .sameHost): 2
        case (.nftables, .elsewhere): 1.4
        case (.daemon, _): nil
        }
    }
}
