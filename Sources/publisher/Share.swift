// SPDX-License-Identifier: Apache-2.0

/// Which datagrams of the run are a worker's.
///
/// Datagram `k` leaves from source `k mod sources`, and source `s` belongs to worker `s mod workers`. So
/// every source has one worker, its numbers leave in order, and no datagram belongs to two workers or to
/// none.
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
