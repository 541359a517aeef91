// SPDX-License-Identifier: Apache-2.0

/// The rates at a receiver of translated XDP frames, from a generator on the same CPU, for each translator.
public struct NATRates: Sendable {
    /// The translators.
    public enum Forwarder: String, CaseIterable, Sendable {
        /// An XDP program that writes constants over the headers and sends the frame on.
        case bare = "bare rewrite"
        /// A rule of nftables that translates each flow's destination, with connection tracking.
        case nftables = "nftables DNAT"
        /// The daemon in mode `xdp_nat`.
        case daemon = "udp-fanout, xdp_nat"
    }

    /// The scenes: one or two arms, and the number of clients.
    public enum Scene: String, CaseIterable, Sendable {
        /// Frames go back where they came from.
        case oneArm = "one arm"
        /// They leave by another interface, by the routes.
        case routed
        /// With one arm, 1024 clients round robin.
        case few = "1024 clients"
        /// The same among 1 048 576 known clients.
        case crowd = "1024 of 1048576 clients"
        /// With one arm, 1 048 576 clients round robin: no cache still has a client's data when it sends again.
        case all = "1048576 clients"

        /// The number of sending clients: a power of two.
        public var clients: Int {
            switch self {
            case .oneArm, .routed: 16
            case .few, .crowd: 1 << 10
            case .all: 1 << 20
            }
        }

        /// The number of known clients: a power of two.
        public var associations: Int { self == .crowd ? 1 << 20 : clients }

        /// Whether frames go back where they came from.
        public var isOneArm: Bool { self != .routed }

        /// The measured translators. nftables would send a frame back only by the routes.
        public var forwarders: [Forwarder] {
            switch self {
            case .oneArm: [.bare, .daemon]
            case .routed: Forwarder.allCases
            case .few, .crowd, .all: [.daemon]
            }
        }
    }

    private var floods: [Scene: [Forwarder: [WireRates.Flood]]] = [:]

    /// No flood yet.
    public init() {}

    /// Adds the flood of one round.
    public mutating func add(_ flood: WireRates.Flood, of forwarder: Forwarder, in scene: Scene) {
        floods[scene, default: [:]][forwarder, default: []].append(flood)
    }

    /// The floods in the order of the rounds.
    public func floods(of forwarder: Forwarder, in scene: Scene) -> [WireRates.Flood] {
        floods[scene]?[forwarder] ?? []
    }

    /// The daemon's rate divided by the other's, in pairs of one round; nil without such a pair.
    public func ratio(to other: Forwarder, in scene: Scene) -> Spread? {
        Self.ratio(of: floods(of: .daemon, in: scene), to: floods(of: other, in: scene))
    }

    /// The time of a packet with many associations relative to few; nil when it was not measured.
    public func slowdown(in scene: Scene) -> Spread? {
        Self.ratio(of: floods(of: .daemon, in: .few), to: floods(of: .daemon, in: scene))
    }

    private static func ratio(
        of some: [WireRates.Flood], to others: [WireRates.Flood]
    ) -> Spread? {
        Spread(zip(some, others).map { $0.rate / $1.rate })
    }

    /// The least promised ``ratio(to:in:)``; nil when there is none.
    public static func promise(to other: Forwarder, in scene: Scene) -> Double? {
        switch (other, scene) {
        case (.bare, .oneArm): 0.8
        case (.bare, .routed): 0.6
        case (.nftables, .routed): 2.5
        default: nil
        }
    }

    /// The promised limit of ``slowdown(in:)``.
    public static let slowdownPromise = 1.5
}
