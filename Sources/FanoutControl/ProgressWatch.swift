// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

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
