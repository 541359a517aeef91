// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// Listeners must not form a forwarding loop, in which a datagram would circulate for ever. Discovered receivers
/// are checked when they are found.
struct LoopCheck {
    private struct Edge {
        let target: Int
        let address: Located<Endpoint>
    }

    private var edges: [[Edge]] = []

    static func run(_ listeners: [DecodedListener], _ findings: Findings) {
        LoopCheck(listeners).report(listeners, findings)
    }

    private init(_ listeners: [DecodedListener]) {
        var own = OwnDestinations()
        for (index, listener) in listeners.enumerated() {
            for claim in Claim.all(of: listener, owner: index) {
                own.add(
                    claim.endpoint, wildcard: claim.wildcard, isSocket: claim.interface == nil,
                    owner: index)
            }
        }
        edges = listeners.map { listener in
            listener.receiverAddresses.compactMap { address in
                own.owner(of: address.value).map { Edge(target: $0, address: address) }
            }
        }
    }

    private func report(_ listeners: [DecodedListener], _ findings: Findings) {
        for (index, targets) in edges.enumerated() {
            for edge in targets where edge.target == index {
                findings.error(
                    at: edge.address.origin,
                    "\(edge.address.value) is this listener itself, so datagrams would go round "
                        + "for ever",
                    "write the address of a receiver")
            }
        }
        for loop in loops() {
            guard let last = loop.last, let first = loop.first,
                let edge = edges[last].first(where: { $0.target == first })
            else { continue }
            let path = (loop + [first]).map { listeners[$0].title }.joined(separator: " -> ")
            findings.error(
                at: edge.address.origin, "\(path) is a ring, so datagrams would go round for ever",
                "write the address of a receiver that is no listener of this file")
        }
    }

    /// Loops of two or more listeners, no listener in more than one of them. Without recursion: a
    /// chain may be as long as the file.
    private func loops() -> [[Int]] {
        var loops: [[Int]] = []
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
                    loops.append(Array(path[index...]))
                    // The listeners of a loop are reported once.
                    for member in path[index...] { next[member] = edges[member].count }
                } else if !seen[target] {
                    seen[target] = true
                    onPath[target] = path.count
                    path.append(target)
                }
            }
        }
        return loops
    }
}
