// SPDX-License-Identifier: Apache-2.0

/// The results of all rounds of one workload.
public struct CaseResult: Sendable {
    /// The input.
    public let workload: Workload
    /// The samples of each forwarder, in the order of the rounds.
    public private(set) var samples: [Forwarder: [Sample]] = [:]

    /// No round yet.
    public init(workload: Workload) {
        self.workload = workload
    }

    /// Adds the sample of one round.
    public mutating func add(_ sample: Sample, of forwarder: Forwarder) {
        samples[forwarder, default: []].append(sample)
    }

    /// CPU ns a datagram of a forwarder.
    public func cost(of forwarder: Forwarder) -> Spread? {
        Spread(samples[forwarder, default: []].map(\.cost))
    }

    /// Datagrams that the sinks got from a forwarder, over all rounds.
    public func delivered(by forwarder: Forwarder) -> Int {
        samples[forwarder, default: []].reduce(0) { $0 + $1.arrived }
    }

    /// The daemon's cost divided by its baseline's, in pairs of one round: the machine's speed changes between rounds
    /// and cancels out within one.
    public var ratio: Spread? {
        let rounds = zip(
            zip(samples[.mmsg, default: []], samples[.gso, default: []]),
            samples[.daemon, default: []])
        return Spread(
            rounds.map { references, daemon in
                daemon.cost
                    / workload.baseline(mmsg: references.0.cost, gso: references.1.cost)
            })
    }
}
