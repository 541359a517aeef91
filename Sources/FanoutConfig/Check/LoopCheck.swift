// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// No listener sends to itself, nor do listeners send in a ring: a datagram would go round for
/// ever.
///
/// Only what the file shows is found: a wildcard bind serves the loopback addresses and every
/// address that another socket of the file is bound to.
struct LoopCheck {
    private struct Edge {
        let target: Int
        let address: Located<Endpoint>
    }

    /// Who serves an endpoint.
    private var owners: [Endpoint: Int] = [:]
    private var wildcards: [UInt16: [IPAddress.Family: Int]] = [:]
    private var local = Set<IPAddress>()
    private var edges: [[Edge]] = []

    static func run(_ drafts: [ListenerDraft], _ findings: Findings) {
        LoopCheck(drafts).report(drafts, findings)
    }

    private init(_ drafts: [ListenerDraft]) {
        for (index, draft) in drafts.enumerated() {
            for claim in Claim.all(of: draft, owner: index) {
                if claim.wildcard.isEmpty {
                    owners[claim.endpoint] = owners[claim.endpoint] ?? index
                    if claim.interface == nil { local.insert(claim.endpoint.address) }
                }
                for family in claim.wildcard {
                    let known = wildcards[claim.endpoint.port]?[family]
                    wildcards[claim.endpoint.port, default: [:]][family] = known ?? index
                }
            }
        }
        edges = drafts.map { draft in
            (draft.downstreams ?? []).compactMap(\.address).compactMap { address in
                owner(of: address.value).map { Edge(target: $0, address: address) }
            }
        }
    }

    private func owner(of endpoint: Endpoint) -> Int? {
        if let owner = owners[endpoint] { return owner }
        guard endpoint.address.isLoopback || local.contains(endpoint.address) else { return nil }
        return wildcards[endpoint.port]?[endpoint.address.family]
    }

    private func report(_ drafts: [ListenerDraft], _ findings: Findings) {
        for (index, targets) in edges.enumerated() {
            for edge in targets where edge.target == index {
                findings.error(
                    at: edge.address.origin,
                    "\(edge.address.value) is this listener itself, so datagrams would go round "
                        + "for ever",
                    "write the address of a receiver")
            }
        }
        for ring in rings() {
            guard let last = ring.last, let first = ring.first,
                let edge = edges[last].first(where: { $0.target == first })
            else { continue }
            let path = (ring + [first]).map { drafts[$0].title }.joined(separator: " -> ")
            findings.error(
                at: edge.address.origin, "\(path) is a ring, so datagrams would go round for ever",
                "write the address of a receiver that is no listener of this file")
        }
    }

    /// Rings of two or more listeners, no listener in more than one of them. Without recursion: a
    /// chain may be as long as the file.
    private func rings() -> [[Int]] {
        var rings: [[Int]] = []
        var seen = [Bool](repeating: false, count: edges.count)
        var next = [Int](repeating: 0, count: edges.count)
        for start in edges.indices where !seen[start] {
            var path = [start]
            var onPath = [start: 0]
            seen[start] = true
            while let node = path.last {
                guard next[node] < edges[node].count else {
                    path.removeLast()
                    onPath[node] = nil
                    continue
                }
                let target = edges[node][next[node]].target
                next[node] += 1
                if let index = onPath[target], target != node {
                    rings.append(Array(path[index...]))
                    // The listeners of a ring that is reported lead to no second report.
                    for member in path[index...] { next[member] = edges[member].count }
                } else if !seen[target] {
                    seen[target] = true
                    onPath[target] = path.count
                    path.append(target)
                }
            }
        }
        return rings
    }
}
