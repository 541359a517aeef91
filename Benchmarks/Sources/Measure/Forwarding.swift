// SPDX-License-Identifier: Apache-2.0

/// What tc_fanout costs a packet, without the kernel around it (BPF_PROG_TEST_RUN).
public struct Forwarding: Sendable {
    /// How the program finds its way to the receiver.
    public enum Path: String, CaseIterable, Sendable {
        /// The way out is in the table; the kernel resolves the neighbour.
        case neighbour = "next hop known"
        /// The route is looked up for each packet.
        case lookup = "route looked up"
    }

    public enum Family: String, CaseIterable, Sendable {
        case v4 = "IPv4"
        case v6 = "IPv6"
    }

    /// One way through the program.
    public struct Cost: Sendable {
        public let path: Path
        public let family: Family
        /// Nanoseconds a run of the program, and of nothing in its place, one figure a round.
        public let program: Spread
        public let empty: Spread

        /// - Parameters: as the properties.
        public init(path: Path, family: Family, program: Spread, empty: Spread) {
            self.path = path
            self.family = family
            self.program = program
            self.empty = empty
        }

        /// Minima, since whatever else the machine does only adds.
        public var net: Double { program.least - empty.least }
    }

    public let costs: [Cost]

    public init(costs: [Cost]) { self.costs = costs }

    /// Nanoseconds a packet of IPv4 that the project promises not to pass.
    public static func promise(_ path: Path) -> Double {
        switch path {
        case .neighbour: 90
        case .lookup: 130
        }
    }

    /// How much more than IPv4 the project lets IPv6 cost.
    public static let promisedRatio = 1.5

    /// The promise for one way: of IPv6, a multiple of what IPv4 was measured at. Nil when IPv4 was not.
    public func promise(for cost: Cost) -> Double? {
        switch cost.family {
        case .v4: Self.promise(cost.path)
        case .v6:
            costs.first { $0.path == cost.path && $0.family == .v4 }
                .map { $0.net * Self.promisedRatio }
        }
    }
}
