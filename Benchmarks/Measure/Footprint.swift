// SPDX-License-Identifier: Apache-2.0

/// The daemon's memory and start-up time.
public struct Footprint: Sendable {
    /// VmRSS after a round of load, with every setting at its default.
    public let residentMebibytes: Double
    /// From exec to the first forwarded datagram.
    public let startMilliseconds: Spread

    /// Promised limit of resident memory in MiB.
    public static let residentPromise = 48.0
    /// Promised limit of milliseconds from exec to the first datagram.
    public static let startPromise = 200.0

    /// - Parameters: as the properties.
    public init(residentMebibytes: Double, startMilliseconds: Spread) {
        self.residentMebibytes = residentMebibytes
        self.startMilliseconds = startMilliseconds
    }
}
