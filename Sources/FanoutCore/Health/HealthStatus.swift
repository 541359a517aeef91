// SPDX-License-Identifier: Apache-2.0

/// Whether one target is healthy, by the probes so far. It knows no clock: time passes in probes.
///
/// A target is healthy until `fall` probes in a row fail, and again once `rise` in a row succeed. One
/// that keeps falling has to prove more: from its third fall on each one doubles the successes that it
/// needs, up to 16 times `rise`, so that a receiver which comes and goes costs ever fewer changes.
/// 20 results in a row that agree with the status make good for one fall.
public struct HealthStatus: Equatable, Sendable {
    /// Falls that cost nothing, so that a restart or two are over with the first answer.
    static let freeFalls = 2
    static let longestPenalty = 16
    static let resultsThatForgive = 20

    public private(set) var isHealthy: Bool
    /// Whether the probes have borne it out; until then it is what was assumed.
    public private(set) var isProven = false
    /// Falls that have not been made good for.
    public private(set) var falls = 0
    /// Results in a row that disagree with the status, and that agree.
    private var against = 0
    private var agreeing = 0

    /// What a result turned the status into.
    public enum Change: Equatable, Sendable {
        case healthy, unhealthy
    }

    /// - Parameter isHealthy: what holds until the probes say otherwise.
    public init(assuming isHealthy: Bool = true) {
        self.isHealthy = isHealthy
        // One that is assumed to be down has fallen already, in another life.
        isProven = !isHealthy
    }

    /// Successes in a row that a target needs now to be healthy again.
    public func successesNeeded(_ policy: HealthPolicy) -> Int {
        let doublings = max(0, falls - Self.freeFalls)
        return policy.rise * min(Self.longestPenalty, 1 << min(doublings, 8))
    }

    /// Takes one result into account.
    ///
    /// - Returns: the new status, when it is another one; the first success of a target that was
    ///   merely assumed to be healthy counts as one.
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
