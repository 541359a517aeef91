// SPDX-License-Identifier: Apache-2.0

/// The cost of tc_fanout per packet, without the surrounding kernel (BPF_PROG_TEST_RUN).
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

    /// One path through the program.
    public struct Cost: Sendable {
        public let path: Path
        public let family: Family
        /// Nanoseconds a run of the program, of one that rewrites fixed fields, one by one, on the same path, and of an
        /// empty one; one figure a round.
        public let program: Spread
        public let bare: Spread
        public let empty: Spread

        /// - Parameters: as the properties.
        public init(path: Path, family: Family, program: Spread, bare: Spread, empty: Spread) {
            self.path = path
            self.family = family
            self.program = program
            self.bare = bare
            self.empty = empty
        }

        /// Minima, because other work on the machine only adds time.
        public var net: Double { program.least - empty.least }

        /// Of the bare program.
        public var netOfBare: Double { bare.least - empty.least }

        /// How many times as long as the bare program it takes.
        public var ratio: Double { netOfBare > 0 ? net / netOfBare : .infinity }
    }

    public let costs: [Cost]

    public init(costs: [Cost]) { self.costs = costs }

    /// How many times as long as the bare program of IPv4 the project promises to take at most: 90 and 130 ns
    /// where the bare ones took 48 and 92.
    public static func promisedRatio(_ path: Path) -> Double {
        switch path {
        case .neighbour: 90.0 / 48
        case .lookup: 130.0 / 92
        }
    }

    /// Promised limit of IPv6's cost relative to IPv4's.
    public static let promisedRatioOfFamilies = 1.5

    /// Nanoseconds that the project promises not to pass: of IPv4 by the bare program beside it, of IPv6 by what
    /// IPv4 was measured at; nil when that was not.
    public func promise(for cost: Cost) -> Double? {
        switch cost.family {
        case .v4: cost.netOfBare * Self.promisedRatio(cost.path)
        case .v6:
            costs.first { $0.path == cost.path && $0.family == .v4 }
                .map { $0.net * Self.promisedRatioOfFamilies }
        }
    }
}
