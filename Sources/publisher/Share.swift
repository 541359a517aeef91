// SPDX-License-Identifier: Apache-2.0

/// The datagrams of the run that belong to a worker.
///
/// Source `k mod sources` sends datagram `k`, and source `s` belongs to worker `s mod workers`. So every source has
/// one worker, which sends its numbers in order, and every datagram belongs to exactly one worker.
struct Share: Sendable {
    let sources: Int
    let workers: Int
    /// 0..<workers.
    let worker: Int

    /// - Precondition: 1 ≤ workers ≤ sources.
    init(sources: Int, workers: Int, worker: Int) {
        precondition(workers >= 1 && workers <= sources && worker < workers)
        self.sources = sources
        self.workers = workers
        self.worker = worker
    }

    /// How many sources are this worker's.
    var ownSources: Int { own(below: sources) }

    /// This worker's sources, ascending.
    var sourceIndices: StrideTo<Int> { stride(from: worker, to: sources, by: workers) }

    /// How many of the datagrams 0..<total are this worker's.
    func count(below total: UInt64) -> UInt64 {
        let (rounds, rest) = total.quotientAndRemainder(dividingBy: UInt64(sources))
        return rounds * UInt64(ownSources) + UInt64(own(below: Int(rest)))
    }

    private func own(below source: Int) -> Int {
        source > worker ? (source - worker + workers - 1) / workers : 0
    }
}

/// When datagrams are due: datagram `k` at `k / rate` seconds after the start, so the first at once. A late datagram
/// does not delay later ones.
struct Pace: Sendable, Equatable {
    /// Datagrams a second, all workers together; 0 = as fast as possible.
    let rate: Double
    /// Datagrams after which the run ends; nil = no such limit.
    let total: UInt64?
    /// Nanoseconds after which the run ends; nil = no such limit.
    let duration: Int64?
    /// Datagrams that can become due: `total`, or those due within `duration`; nil = no such limit.
    private let limit: UInt64?

    /// - Parameters:
    ///   - rate: 0...1e9, datagrams a second.
    ///   - total: 0 = for ever.
    ///   - seconds: more than 0 and at most 1e9; nil = for ever.
    init(rate: Double, total: UInt64, seconds: Double?) {
        self.rate = rate
        duration = seconds.map { Int64(($0 * 1e9).rounded()) }
        self.total = total == 0 ? nil : total
        var limit = self.total
        if rate > 0, let seconds {
            // Those due before the end. The product may be off a whole number by a rounding error.
            let before = (rate * seconds - 1e-6).rounded(.up)
            limit = min(limit ?? .max, UInt64(max(1, before)))
        }
        self.limit = limit
    }

    /// How many datagrams are due `elapsed` nanoseconds after the start.
    func due(at elapsed: Int64) -> UInt64 {
        guard rate > 0 else { return limit ?? .max }
        let whole = (rate * Double(elapsed) / 1e9).rounded(.down)
        return min(limit ?? .max, UInt64(min(max(0, whole), 1e18)) + 1)
    }

    /// Nanoseconds from the start to the moment when datagram `number` is due.
    func moment(of number: UInt64) -> Int64 {
        guard rate > 0 else { return 0 }
        return Int64(min(Double(number) / rate * 1e9, 9e18).rounded(.up))
    }

    func isOver(at elapsed: Int64) -> Bool { duration.map { elapsed >= $0 } ?? false }

    /// Whether a person can read each message.
    var isSlow: Bool { rate > 0 && rate <= 10 }
}
