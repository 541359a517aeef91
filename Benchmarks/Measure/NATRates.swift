// SPDX-License-Identifier: Apache-2.0

/// What reaches a receiver of XDP frames that are translated on the way, from a generator on the same CPU, by who
/// translates.
public struct NATRates: Sendable {
    /// Who translates.
    public enum Forwarder: String, CaseIterable, Sendable {
        /// An XDP program that writes constants over the headers and sends the frame on.
        case bare = "bare rewrite"
        /// A rule of nftables that translates each flow's destination, with connection tracking.
        case nftables = "nftables DNAT"
        /// The daemon in mode `xdp_nat`.
        case daemon = "udp-fanout, xdp_nat"
    }

    /// Who is compared, and with how many clients.
    public enum Scene: String, CaseIterable, Sendable {
        /// Frames go back where they came from.
        case oneArm = "one arm"
        /// They leave by another interface, which the routes say.
        case routed
        /// With one arm, 1024 clients in turn.
        case few = "1024 clients"
        /// The same among 1 048 576 that are known.
        case crowd = "1024 of 1048576 clients"
        /// With one arm, 1 048 576 clients in turn: each is met when no cache has it any more.
        case all = "1048576 clients"

        /// How many clients take turns: a power of two.
        public var clients: Int {
            switch self {
            case .oneArm, .routed: 16
            case .few, .crowd: 1 << 10
            case .all: 1 << 20
            }
        }

        /// How many are known: a power of two.
        public var associations: Int { self == .crowd ? 1 << 20 : clients }

        /// Whether frames go back where they came from.
        public var isOneArm: Bool { self != .routed }

        /// Who is measured. nftables would send a frame back only by the routes.
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

    /// The daemon's rate over the other's, each pair out of one round; nil without such a pair.
    public func ratio(to other: Forwarder, in scene: Scene) -> Spread? {
        Self.ratio(of: floods(of: .daemon, in: scene), to: floods(of: other, in: scene))
    }

    /// How much longer a packet takes with many associations than with few; nil when that was not measured.
    public func slowdown(in scene: Scene) -> Spread? {
        Self.ratio(of: floods(of: .daemon, in: .few), to: floods(of: .daemon, in: scene))
    }

    private static func ratio(
        of some: [WireRates.Flood], to others: [WireRates.Flood]
    ) -> Spread? {
        Spread(zip(some, others).map { $0.rate / $1.rate })
    }

    /// The least ``ratio(to:in:)`` that the project promises; nil for what is not promised.
    public static func promise(to other: Forwarder, in scene: Scene) -> Double? {
        switch (other, scene) {
        case (.bare, .oneArm): 0.8
        case (.bare, .routed): 0.6
        case (.nftables, .routed): 2.5
        default: nil
        }
    }

    /// The ``slowdown(in:)`` that the project promises not to pass.
    public static let slowdownPromise = 1.5
}
