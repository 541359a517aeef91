// SPDX-License-Identifier: Apache-2.0

/// Whether a receiver gets new traffic, and why not: what every report about it says.
public enum ReceiverState: String, CaseIterable, Codable, Hashable, Sendable {
    case ready
    /// By hand: `udp-fanout drain`.
    case drained
    /// Its weight in the configuration is 0.
    case weightZero = "weight_zero"
    /// By its probes.
    case unhealthy
    /// It has a share of new traffic, which is dropped: nothing gets to it.
    case outOfReach = "out_of_reach"

    /// - Parameters:
    ///   - weight: the weight in force.
    ///   - isReady: whether it has a share of new traffic.
    ///   - isDrained: whether somebody has taken it out of service by hand.
    ///   - isWithinReach: whether anything gets to it.
    public init(weight: UInt16, isReady: Bool, isDrained: Bool, isWithinReach: Bool) {
        self =
            isDrained
            ? .drained
            : weight == 0
                ? .weightZero : !isReady ? .unhealthy : isWithinReach ? .ready : .outOfReach
    }
}
