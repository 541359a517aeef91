// SPDX-License-Identifier: Apache-2.0

/// The health status of one target, from its probe results. It uses no clock; it counts probes.
///
/// A target is healthy until `fall` consecutive probes fail, and again once `rise` consecutive probes succeed. From
/// its third fall on, each fall doubles the successes that it needs, up to 16 times `rise`, so that a flapping
/// receiver causes fewer and fewer changes. 20 consecutive results that agree with the status cancel one fall.
public struct HealthStatus: Equatable, Sendable {
    /// Falls without a penalty, so that a receiver recovers from one or two restarts with the first reply.
    static let freeFalls = 2
    static let longestPenalty = 16
    static let resultsThatForgive = 20

    public private(set) var isHealthy: Bool
    /// Whether probes have confirmed the status; until then it is assumed.
    public private(set) var isProven = false
    /// Falls that have not been cancelled.
    public private(set) var falls = 0
    /// Consecutive results that contradict the status, and that agree with it.
    private var against = 0
    private var agreeing = 0

    /// How a result changed the status.
    public enum Change: Equatable, Sendable {
        case healthy, unhealthy
    }

    /// - Parameter isHealthy: the status until probes change it.
    public init(assuming isHealthy: Bool = true) {
        self.isHealthy = isHealthy
        // A target that is assumed to be down counts as fallen.
        isProven = !isHealthy
    }

    /// Consecutive successes that the target needs now to become healthy.
    public func successesNeeded(_ policy: HealthPolicy) -> Int {
        let doublings = max(0, falls - Self.freeFalls)
        return policy.rise * min(Self.longestPenalty, 1 << min(doublings, 8))
    }

    /// Adds a result.
    ///
    /// - Returns: the new status if it changed. The first success of a target that was assumed to be healthy counts
    ///   as a change.
    public mutating func note(_ isAlive: Bool, _ policy: HealthPolicy) -> Change? {
        guard isAlive != isHealthy else {
            against = 0
            agreeing += 1
            if agreeing == Self.resultsThatForgive {
                agreeing = 0
                falls = max(0, falls - 1)
            }
            let isFirst = !isProven
            isProven = true
            return isFirst ? .healthy : nil
        }
        agreeing = 0
        against += 1
        guard against >= (isHealthy ? policy.fall : successesNeeded(policy)) else { return nil }
        against = 0
        isHealthy = isAlive
        isProven = true
        if !isHealthy { falls = min(falls + 1, 16) }
        return isHealthy ? .healthy : .unhealthy
    }
}
