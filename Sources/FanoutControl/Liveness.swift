// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import Synchronization

/// The latest results of checking the workers, for callers that must not wait. Times are from a monotonic clock,
/// nanoseconds.
public final class Liveness: Sendable {
    /// A worker that has work and makes no progress for this long counts as hung.
    static let patience: Int64 = 10_000_000_000
    /// Data planes that do not respond for this long count as hung. A large change keeps them busy for seconds.
    static let patienceWithPlanes: Int64 = 30_000_000_000

    private struct State {
        var lastLook: Int64?
        /// When each stuck worker was first seen with its pending work.
        var stuck: [String: Int64] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    /// Takes the result of a check: the workers without progress since the previous one.
    public func note(stuck: [String], at now: Int64) {
        state.withLock { state in
            let since = state.lastLook ?? now
            state.stuck = Dictionary(
                uniqueKeysWithValues: stuck.map { ($0, state.stuck[$0] ?? since) })
            state.lastLook = now
        }
    }

    /// Discards all results: no check follows.
    public func end() { state.withLock { $0 = State() } }

    /// Why the daemon does not work, in one line; nil if it does.
    public func obstacle(at now: Int64) -> String? {
        state.withLock { state in
            let longest = state.stuck.min { ($0.value, $0.key) < ($1.value, $1.key) }
            if let (worker, since) = longest, now - since >= Self.patience {
                return
                    "worker \(worker) has made no progress for \((now - since) / 1_000_000_000) s"
            }
            guard let last = state.lastLook, now - last >= Self.patienceWithPlanes else {
                return nil
            }
            return "the data planes have not answered for \((now - last) / 1_000_000_000) s"
        }
    }
}

/// Distinguishes hung workers from waiting ones: a worker hangs if it has work and has done none since the previous
/// check. A value: it takes the workers' progress from time to time.
public struct ProgressWatch: Sendable {
    private var last: [String: WorkerProgress] = [:]

    public init() {}

    /// Checks the workers.
    ///
    /// - Returns: the names of workers that had work at the previous check and now, and have finished no batch in
    ///   between.
    public mutating func note(_ now: [WorkerProgress]) -> [String] {
        let stuck = now.filter { worker in
            guard let before = last[worker.worker] else { return false }
            return worker.hasWork && before.hasWork && worker.epoch == before.epoch
        }
        last = Dictionary(now.map { ($0.worker, $0) }) { $1 }
        return stuck.map(\.worker).sorted()
    }
}
