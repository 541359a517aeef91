// SPDX-License-Identifier: Apache-2.0

/// The cost of xdp_nat per packet, without the surrounding kernel (BPF_PROG_TEST_RUN).
public struct Translation: Sendable {
    /// The sender of the packet.
    public enum Packet: String, CaseIterable, Sendable {
        case request = "from a known client"
        case answer = "from its server"
        /// A new one each time with a full table: each evicts one.
        case newcomer = "from a new client"
    }

    /// How it is sent.
    public enum Way: String, CaseIterable, Sendable {
        /// Back where it came from.
        case oneArm = "one arm"
        /// The route is looked up.
        case routed
    }

    /// One path through the program.
    public struct Cost: Sendable {
        public let packet: Packet
        public let way: Way
        public let family: Forwarding.Family
        /// Nanoseconds a run of the program and of an empty one, one figure a round.
        public let program: Spread
        public let empty: Spread

        /// - Parameters: as the properties.
        public init(
            packet: Packet, way: Way, family: Forwarding.Family, program: Spread, empty: Spread
        ) {
            self.packet = packet
            self.way = way
            self.family = family
            self.program = program
            self.empty = empty
        }

        /// Minima, because other work on the machine only adds time.
        public var net: Double { program.least - empty.least }
    }

    public let costs: [Cost]

    public init(costs: [Cost]) { self.costs = costs }

    /// Nanoseconds a packet of IPv4 that the project promises not to pass; nil for what is not promised.
    public static func promise(_ packet: Packet, _ way: Way) -> Double? {
        switch (packet, way) {
        case (.newcomer, .oneArm): 520
        case (.newcomer, .routed): nil
        case (_, .oneArm): 55
        case (_, .routed): 90
        }
    }

    /// Promised limit of IPv6's cost relative to IPv4's.
    public static let promisedRatio = 1.3

    /// The promise for one way: of IPv6, a multiple of what IPv4 was measured at. Nil when there is none.
    public func promise(for cost: Cost) -> Double? {
        guard let promise = Self.promise(cost.packet, cost.way) else { return nil }
        guard cost.family == .v6 else { return promise }
        return costs.first {
            $0.packet == cost.packet && $0.way == cost.way && $0.family == .v4
        }.map { $0.net * Self.promisedRatio }
    }
}
