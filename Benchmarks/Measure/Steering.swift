// SPDX-License-Identifier: Apache-2.0

/// The cost of a reuseport group's program.
public struct Steering: Sendable {
    /// Nanoseconds a run of the program, as the kernel measures them, one figure a round.
    public let program: Spread
    /// The same of an empty program, which is the cost of the measurement.
    public let empty: Spread
    /// What two collectors together received with the program, divided by what they received without; one figure a
    /// pair of rounds.
    public let received: Spread

    /// Promised limit of nanoseconds a packet.
    public static let netPromise = 40.0
    /// The share of the kernel's own rate that the project promises.
    public static let receivedPromise = 0.93

    /// - Parameters: as the properties.
    public init(program: Spread, empty: Spread, received: Spread) {
        self.program = program
        self.empty = empty
        self.received = received
    }

    /// Minima, because other work on the machine only adds time.
    public var net: Double { program.least - empty.least }
}
