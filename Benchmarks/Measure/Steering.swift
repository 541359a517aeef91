// SPDX-License-Identifier: Apache-2.0

/// The cost of ReusePortLB.
public struct Steering: Sendable {
    /// One kind of group.
    public struct Program: Sendable {
        public let name: String
        /// Nanoseconds a run, as the kernel measures them, one figure a round.
        public let cost: Spread
        /// The same of a program that hashes the source, looks up a table and selects a socket.
        public let bare: Spread
        /// The same of an empty program, which is the cost of the measurement.
        public let empty: Spread
        /// Instructions that the verifier has followed.
        public let verified: Int
        /// The highest ratio to the bare program that the project promises.
        public let promise: Double

        public init(
            name: String, cost: Spread, bare: Spread, empty: Spread, verified: Int, promise: Double
        ) {
            self.name = name
            self.cost = cost
            self.bare = bare
            self.empty = empty
            self.verified = verified
            self.promise = promise
        }

        /// Of minima, because other work on the machine only adds time.
        public var ratio: Double { (cost.least - empty.least) / (bare.least - empty.least) }
    }

    public let programs: [Program]
    /// What two collectors together received with the program, divided by what they received without; one figure a
    /// pair of rounds.
    public let received: Spread
    /// CPU nanoseconds of the receiver a datagram in trains, one by one and merged (UDP_GRO).
    public let apart: Spread
    public let together: Spread

    /// The share of the kernel's own rate that the project promises.
    public static let receivedPromise = 0.95
    /// The highest cost of a merged datagram, by that of a single one.
    public static let mergedPromise = 0.4

    /// - Parameters: as the properties.
    public init(programs: [Program], received: Spread, apart: Spread, together: Spread) {
        self.programs = programs
        self.received = received
        self.apart = apart
        self.together = together
    }

    /// Of minima, because other work on the machine only adds time.
    public var mergedRatio: Double { together.least / apart.least }
}
