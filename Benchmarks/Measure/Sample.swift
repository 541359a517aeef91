// SPDX-License-Identifier: Apache-2.0

/// The result of one round of load, as `loadgen` prints it.
public struct Sample: Decodable, Equatable, Sendable {
    /// Datagrams that reached the sinks in the measured time.
    public let arrived: Int
    /// On-CPU time of the forwarder in the measured time, in ns.
    public let cpuNanoseconds: Int
    /// Datagrams that the kernel took from the sender, warm-up included.
    public let sentInAll: Int
    /// Datagrams that reached each sink, warm-up included, once none was in flight.
    public let perSinkInAll: [Int]

    enum CodingKeys: String, CodingKey {
        case arrived
        case cpuNanoseconds = "cpu_ns"
        case sentInAll = "sent_in_all"
        case perSinkInAll = "per_sink_in_all"
    }

    /// - Parameters: as the properties.
    public init(arrived: Int, cpuNanoseconds: Int, sentInAll: Int, perSinkInAll: [Int]) {
        self.arrived = arrived
        self.cpuNanoseconds = cpuNanoseconds
        self.sentInAll = sentInAll
        self.perSinkInAll = perSinkInAll
    }

    /// Datagrams that reached the sinks, warm-up included.
    public var arrivedInAll: Int { perSinkInAll.reduce(0, +) }

    /// CPU ns that a delivered datagram cost; infinite when none was delivered.
    public var cost: Double {
        arrived == 0 ? .infinity : Double(cpuNanoseconds) / Double(arrived)
    }

    /// Why the sample is no valid measurement; empty when it is.
    public var doubts: [String] {
        guard arrived > 0 else { return ["nothing was delivered"] }
        var doubts: [String] = []
        let mean = Double(arrivedInAll) / Double(perSinkInAll.count)
        func distance(_ count: Int) -> Double { (Double(count) - mean).magnitude }
        let worst = perSinkInAll.max { distance($0) < distance($1) } ?? 0
        if distance(worst) > max(1, mean / 100) {
            doubts.append("a sink got \(worst), the mean is \(Int(mean)): no round robin")
        }
        if arrivedInAll > sentInAll {
            doubts.append("\(arrivedInAll) arrived of \(sentInAll) sent")
        }
        return doubts
    }
}
