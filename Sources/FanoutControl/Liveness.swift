// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import Synchronization

/// What the looks at the workers have found so far, for callers that may not wait for the next one. Times are of a
/// clock that does not jump, nanoseconds.
public final class Liveness: Sendable {
    /// Without progress for so long a worker that has work counts as dead.
    static let patience: Int64 = 10_000_000_000
    /// Data planes that have not even answered for so long count as dead. A large change keeps them busy for seconds.
    static let patienceWithPlanes: Int64 = 30_000_000_000

    private struct State {
        var lastLook: Int64?
        /// By the worker: when it was first seen with the work that it has not done yet.
        var stuck: [String: Int64] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    /// Takes the result of a look: the workers that made no progress since the previous look.
    public func note(stuck: [String], at now: Int64) {
        state.withLock { state in
            let since = state.lastLook ?? now
            state.stuck = Dictionary(
                uniqueKeysWithValues: stuck.map { ($0, state.stuck[$0] ?? since) })
            state.lastLook = now
        }
    }

    /// Forgets all looks: none follows.
    public func end() { state.withLock { $0 = State() } }

    /// Why the daemon does not do its work, in one line; nil when it does.
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

/// Tells workers that hang from workers that wait: one that has work and has done none since the look
/// before hangs. A value: it takes what the workers are doing, from time to time.
public struct ProgressWatch: Sendable {
    private var last: [String: WorkerProgress] = [:]

    public init() {}

    /// Takes a look.
    ///
    /// - Returns: the workers that had work at the last look and at this one and have finished no batch in
    ///   between, by name.
    public mutating func note(_ now: [WorkerProgress]) -> [String] {
        let stuck = now.filter { worker in
            guard let before = last[worker.worker] else { return false }
            return worker.hasWork && before.hasWork && worker.epoch == before.epoch
        }
        last = Dictionary(now.map { ($0.worker, $0) }) { $1 }
        return stuck.map(\.worker).sorted()
    }
}
