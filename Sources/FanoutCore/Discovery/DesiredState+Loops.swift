// SPDX-License-Identifier: Apache-2.0

extension DesiredState {
    /// The state without those receivers that were found and lead back to the listener that found them: it is
    /// one itself, or a listener of this daemon that forwards to it, by whatever way. A datagram would go round
    /// for ever. Of a ring it is the last listener that goes without; receivers of the configuration stay.
    ///
    /// - Parameter host: its addresses.
    /// - Returns: the state, and how many receivers it is without, by listener.
    func withoutLoops(
        on host: Set<IPAddress>
    ) -> (state: DesiredState, loops: [String: Int]) {
        let own = OwnDestinations(sentByThisHostTo: listeners, on: host)
        var graph = ListenerGraph()
        for (index, listener) in listeners.enumerated() where listener.discovery == nil {
            for target in listener.downstreams.compactMap({ own.owner(of: $0.endpoint) }) {
                graph.connect(index, to: target)
            }
        }
        var result = self
        var loops: [String: Int] = [:]
        for (index, listener) in listeners.enumerated() where listener.discovery != nil {
            let leadsBack = Set(
                listener.downstreams.lazy.map(\.endpoint).filter { endpoint in
                    guard let target = own.owner(of: endpoint) else { return false }
                    if graph.leads(from: target, to: index) { return true }
                    graph.connect(index, to: target)
                    return false
                })
            guard !leadsBack.isEmpty else { continue }
            result.listeners[index].downstreams.removeAll { leadsBack.contains($0.endpoint) }
            loops[listener.name] = leadsBack.count
        }
        return (result, loops)
    }
}

/// Which listeners forward to which.
private struct ListenerGraph {
    private var targets: [Int: Set<Int>] = [:]

    mutating func connect(_ listener: Int, to target: Int) {
        targets[listener, default: []].insert(target)
    }

    /// Whether what one listener gets comes to the other, which may be itself.
    func leads(from start: Int, to end: Int) -> Bool {
        var seen: Set = [start]
        var next = [start]
        while let listener = next.popLast() {
            if listener == end { return true }
            for target in targets[listener] ?? [] where seen.insert(target).inserted {
                next.append(target)
            }
        }
        return false
    }
}
