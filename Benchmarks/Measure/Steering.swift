// SPDX-License-Identifier: Apache-2.0

/// What the program of a reuseport group costs.
public struct Steering: Sendable {
    /// Nanoseconds a run of the program, by the kernel's own account, one figure a round.
    public let program: Spread
    /// The same of a program that does nothing, which is the price of the account.
    public let empty: Spread
    /// What two collectors received together with the program over what they received without, one
    /// figure a pair of rounds.
    public let received: Spread

    /// Nanoseconds a packet that the project promises not to pass.
    public static let netPromise = 40.0
    /// The share of the kernel's own rate that the project promises.
    public static let receivedPromise = 0.93

    /// - Parameters: as the properties.
    public init(program: Spread, empty: Spread, received: Spread) {
        self.program = program
        self.empty = empty
        self.received = received
    }

    /// Minima, since whatever else the machine does only adds.
    public var net: Double { program.least - empty.least }
}
