// SPDX-License-Identifier: Apache-2.0

/// The rates at a receiver from a generator that overloads every forwarder, for each forwarder.
public struct WireRates: Sendable {
    /// The forwarders, on one CPU.
    public enum Forwarder: String, CaseIterable, Sendable {
        /// `xskreference ring`: AF_XDP in, AF_XDP out.
        case ring = "xskreference ring"
        /// `xskreference mmsg`: AF_XDP in, `sendmmsg` out.
        case mmsg = "xskreference mmsg"
        /// The daemon in mode `userspace`.
        case userspace = "udp-fanout, userspace"
        /// The daemon in mode `af_xdp`.
        case afxdp = "udp-fanout, af_xdp"

        /// Whether it is the daemon.
        public var isDaemon: Bool { self == .userspace || self == .afxdp }
    }

    /// The turns of one forwarder in one round.
    public struct Flood: Equatable, Sendable {
        /// Measured time in ns.
        public let nanoseconds: Int
        /// Datagrams that reached the receiver in that time.
        public let arrived: Int
        /// On-CPU time of the forwarder's threads in that time, in ns.
        public let cpuNanoseconds: Int
        /// Frames that the generator made, warm-up included.
        public let sentInAll: Int
        /// Datagrams that reached the receiver, warm-up included.
        public let arrivedInAll: Int

        /// - Parameters: as the properties.
        public init(
            nanoseconds: Int, arrived: Int, cpuNanoseconds: Int, sentInAll: Int, arrivedInAll: Int
        ) {
            self.nanoseconds = nanoseconds
            self.arrived = arrived
            self.cpuNanoseconds = cpuNanoseconds
            self.sentInAll = sentInAll
            self.arrivedInAll = arrivedInAll
        }

        /// Datagrams a second that reached the receiver.
        public var rate: Double { Double(arrived) * 1e9 / Double(max(nanoseconds, 1)) }

        /// CPU ns that a delivered datagram cost; infinite when none was delivered.
        public var cost: Double {
            arrived == 0 ? .infinity : Double(cpuNanoseconds) / Double(arrived)
        }

        /// Why the flood is no valid measurement; empty when it is.
        public var doubts: [String] {
            if arrived == 0 { return ["nothing arrived"] }
            return arrivedInAll > sentInAll ? ["\(arrivedInAll) arrived of \(sentInAll) sent"] : []
        }

        /// The flood as a sample, to compare with the counters.
        public var sample: Sample {
            Sample(
                arrived: arrived, cpuNanoseconds: cpuNanoseconds, sentInAll: sentInAll,
                perSinkInAll: [arrivedInAll])
        }
    }

    private var floods: [Forwarder: [Flood]] = [:]
    /// Resident memory of the daemon in mode `af_xdp` after load, its frames included, on an interface of
    /// one queue; nil when it was not measured.
    public var residentMebibytes: Double?
    /// Per cent of a CPU that the daemon in mode `af_xdp` uses without traffic and without busy polling; nil when it
    /// was not measured.
    public var idlePercent: Double?

    /// No flood yet.
    public init() {}

    /// Adds the flood of one round.
    public mutating func add(_ flood: Flood, of forwarder: Forwarder) {
        floods[forwarder, default: []].append(flood)
    }

    /// The floods in the order of the rounds.
    public func floods(of forwarder: Forwarder) -> [Flood] { floods[forwarder] ?? [] }

    /// The rate of mode `af_xdp` over the other's, each pair out of one round; nil without such a pair.
    public func ratio(to other: Forwarder) -> Spread? {
        Spread(
            zip(floods(of: other), floods(of: .afxdp)).map { other, daemon in
                daemon.rate / other.rate
            })
    }

    /// The least ``ratio(to:)`` that the project promises; nil for `af_xdp` itself.
    public static func promise(to other: Forwarder) -> Double? {
        switch other {
        case .ring: 0.9
        case .mmsg: 3
        case .userspace: 2
        case .afxdp: nil
        }
    }

    /// Promised limit of memory a queue, in MiB.
    public static let residentPromise = 64.0
    /// Promised limit in per cent of a CPU.
    public static let idlePromise = 2.0
}
