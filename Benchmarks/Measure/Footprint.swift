// SPDX-License-Identifier: Apache-2.0

/// What the daemon needs besides CPU time a datagram.
public struct Footprint: Sendable {
    /// VmRSS after a round of load, with every setting at its default.
    public let residentMebibytes: Double
    /// From exec to the first datagram that came out.
    public let startMilliseconds: Spread

    /// MiB of resident memory that the project promises not to pass.
    public static let residentPromise = 48.0
    /// Milliseconds from exec to the first datagram that the project promises not to pass.
    public static let startPromise = 200.0

    /// - Parameters: as the properties.
    public init(residentMebibytes: Double, startMilliseconds: Spread) {
        self.residentMebibytes = residentMebibytes
        self.startMilliseconds = startMilliseconds
    }
}
