// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
public import Logging

extension Change {
    /// A summary for one log line: which listeners changed, and how many receivers were added, removed or
    /// reweighted in those that stay.
    public var summary: Logger.Metadata {
        guard !isEmpty else { return ["changed": "nothing"] }
        var result: Logger.Metadata = [:]
        func list(_ key: String, _ listeners: [Listener]) {
            guard !listeners.isEmpty else { return }
            result[key] = "\(listeners.map(\.name).joined(separator: ","))"
        }
        list("added", added)
        list("removed", removed)
        list("replaced", replaced.map(\.to))
        list("retargeted", retargeted.map(\.to))
        let moves = (retargeted + replaced).map { DownstreamMoves(from: $0.from, to: $0.to) }
        for (key, count) in [
            ("downstreams_added", moves.map(\.added).reduce(0, +)),
            ("downstreams_removed", moves.map(\.removed).reduce(0, +)),
            ("downstreams_reweighted", moves.map(\.reweighted).reduce(0, +)),
        ] where count > 0 {
            result[key] = "\(count)"
        }
        return result
    }
}

/// How the receivers of one listener changed, by endpoint.
struct DownstreamMoves: Equatable {
    let added: Int
    let removed: Int
    let reweighted: Int

    init(from old: Listener, to new: Listener) {
        let before = Dictionary(
            uniqueKeysWithValues: old.downstreams.map { ($0.endpoint, $0.weight) })
        let after = Dictionary(
            uniqueKeysWithValues: new.downstreams.map { ($0.endpoint, $0.weight) })
        added = after.keys.count { before[$0] == nil }
        removed = before.keys.count { after[$0] == nil }
        reweighted = after.count { endpoint, weight in
            before[endpoint].map { $0 != weight } ?? false
        }
    }
}
