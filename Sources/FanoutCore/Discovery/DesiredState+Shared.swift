// SPDX-License-Identifier: Apache-2.0

extension DesiredState {
    /// The state without those receivers that were found and are also a receiver of another `xdp_nat` listener, or
    /// have a port of their own and would be met there for several ports of one: of the packets of such a server
    /// nobody could tell whose answers they are. It stays with a listener whose configuration names it, or else
    /// with the first in the configuration's order among those that found it, whichever found it first.
    ///
    /// - Returns: the state, and how many receivers it is without, by listener.
    func withoutSharedServers() -> (state: DesiredState, shared: [String: Int]) {
        var taken = Set<Endpoint>()
        for listener in listeners where listener.mode == .xdpNAT && listener.discovery == nil {
            for downstream in listener.downstreams {
                taken.formUnion(listener.servers(of: downstream))
            }
        }
        var result = self
        var shared: [String: Int] = [:]
        for (index, listener) in listeners.enumerated()
        where listener.mode == .xdpNAT && listener.discovery != nil {
            let own = listener.downstreams.filter { taken.claim(listener.servers(of: $0)) }
            guard own.count < listener.downstreams.count else { continue }
            shared[listener.name] = listener.downstreams.count - own.count
            result.listeners[index].downstreams = own
        }
        return (result, shared)
    }
}

extension Listener {
    /// Where a receiver is met, port by port.
    func servers(of downstream: Downstream) -> [Endpoint] {
        ports.map { endpoint(of: downstream, at: $0) }
    }
}

extension Set {
    /// Inserts all of them or, when one is there or among them twice, none.
    fileprivate mutating func claim(_ elements: [Element]) -> Bool {
        for (index, element) in elements.enumerated() where !insert(element).inserted {
            subtract(elements[..<index])
            return false
        }
        return true
    }
}
