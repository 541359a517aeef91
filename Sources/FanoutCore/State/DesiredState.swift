// SPDX-License-Identifier: Apache-2.0

/// What the daemon should do. Configuration, discovery and health feed it; the data planes follow it.
public struct DesiredState: Equatable, Sendable {
    /// Names are unique.
    public var listeners: [Listener]

    public init(listeners: [Listener] = []) { self.listeners = listeners }

    /// The listeners of one mode.
    public func carried(by mode: ForwardingMode) -> DesiredState {
        DesiredState(listeners: listeners.filter { $0.mode == mode })
    }
}

extension DesiredState {
    /// The state without discovered receivers that form a forwarding loop: the listener itself, or a listener of
    /// this daemon that forwards to it, directly or indirectly. In a loop of several listeners the last one loses
    /// the receiver. Receivers of the configuration stay.
    ///
    /// - Parameter host: the host's addresses.
    /// - Returns: the state, and how many receivers were removed, by listener.
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
            let looping = Set(
                listener.downstreams.lazy.map(\.endpoint).filter { endpoint in
                    guard let target = own.owner(of: endpoint) else { return false }
                    if graph.leads(from: target, to: index) { return true }
                    graph.connect(index, to: target)
                    return false
                })
            guard !looping.isEmpty else { continue }
            result.listeners[index].downstreams.removeAll { looping.contains($0.endpoint) }
            loops[listener.name] = looping.count
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

    /// Whether datagrams of one listener get to the other, which may be the same.
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

// A mode change is make-before-break: the new listener starts before the old one stops. Meanwhile either of them
// forwards a packet.

extension DesiredState {
    /// The intermediate states from `previous` to this one, which is the last. If another mode replaces a listener,
    /// the old listener stays until the new one runs, provided that both can coexist.
    public func steps(from previous: DesiredState) -> [DesiredState] {
        var steps: [DesiredState] = []
        var reached = previous
        // Two listeners that exchange their addresses would wait for each other.
        while case let next = besideReplaced(of: reached), next != self, next != reached {
            steps.append(next)
            reached = next
        }
        return steps + [self]
    }

    /// The listeners of `previous` that stop before their replacement runs, in a single step from `previous` to
    /// this state.
    public func leavingEarly(from previous: DesiredState) -> [Listener] {
        let move = Move(from: previous, to: self)
        return previous.listeners.filter { move.isReplaced($0) && !listeners.contains($0) }
    }

    /// This state, plus the listeners of `previous` that another mode replaces and that can coexist with it,
    /// unchanged.
    private func besideReplaced(of previous: DesiredState) -> DesiredState {
        let move = Move(from: previous, to: self)
        let kept = previous.listeners.filter { move.isReplaced($0) && move.canStay($0) }
        let identities = Set(kept.map(Identity.init))
        return DesiredState(
            listeners: listeners.filter { !identities.contains(Identity($0)) } + kept)
    }

    /// The addresses and hooks of the listeners before and after a step.
    private struct Move {
        private let next: [Listener]
        private let now: [Identity: [Endpoint]]
        private let coming: [(listener: Listener, places: [Endpoint])]

        init(from previous: DesiredState, to next: DesiredState) {
            let before = previous.places
            self.next = next.listeners
            now = next.places
            coming = next.listeners.map { listener in
                (listener, listener.places.beyond(before[Identity(listener)] ?? []))
            }
        }

        /// Whether another mode takes over an address that the listener leaves.
        func isReplaced(_ listener: Listener) -> Bool {
            let left = listener.places.beyond(now[Identity(listener)] ?? [])
            return !left.isEmpty
                && coming.contains { $0.listener.mode != listener.mode && $0.places.meet(left) }
        }

        /// Whether it can coexist with all new listeners. An address has one listener of a mode, an interface one
        /// XDP program, and a server of mode `xdp_nat` one listener.
        func canStay(_ listener: Listener) -> Bool {
            let places = listener.places
            let others = next.filter { Identity($0) != Identity(listener) }
            return !coming.contains { $0.listener.mode == listener.mode && $0.places.meet(places) }
                && !others.contains(where: listener.wantsHook)
                && listener.sharesNoServer(with: others)
        }
    }

    /// Names are unique within a mode only.
    private var places: [Identity: [Endpoint]] {
        Dictionary(uniqueKeysWithValues: listeners.map { (Identity($0), $0.places) })
    }

    /// The modes that release an interface's XDP hook for another mode.
    public func modesYieldingHooks(from previous: DesiredState) -> Set<ForwardingMode> {
        let now = hooks
        return Set(previous.hooks.filter { $0.value != now[$0.key, default: $0.value] }.values)
    }

    /// The mode that has the XDP hook, by interface.
    private var hooks: [String: ForwardingMode] {
        let named = listeners.filter(\.mode.hooksXDP).compactMap { listener in
            listener.interface.map { ($0, listener.mode) }
        }
        return Dictionary(named) { first, _ in first }
    }

    private struct Identity: Hashable {
        let name: String
        let mode: ForwardingMode

        init(_ listener: Listener) { (name, mode) = (listener.name, listener.mode) }
    }
}

extension Listener {
    /// The endpoints that it serves; everywhere for wildcards.
    fileprivate var places: [Endpoint] {
        let more: [IPAddress] =
            switch served {
            case .any: [IPAddress(v4: 0), IPAddress(high: 0, low: 0)]
            case .listed(let addresses): addresses
            }
        return ports.flatMap { port in
            ([bind.address] + more).map { Endpoint($0, port: port) }
        }
    }

    /// Whether another mode holds the XDP hook that this listener needs.
    fileprivate func wantsHook(of other: Listener) -> Bool {
        mode.hooksXDP && other.mode.hooksXDP && mode != other.mode && interface == other.interface
    }

    fileprivate func sharesNoServer(with others: [Listener]) -> Bool {
        guard mode == .xdpNAT else { return true }
        let taken = others.filter { $0.mode == mode }.flatMap(\.servers)
        return Set(servers).isDisjoint(with: taken)
    }

    /// Every endpoint of its receivers.
    private var servers: [Endpoint] { downstreams.flatMap(servers(of:)) }
}

extension [Endpoint] {
    /// The endpoints that none of `others` covers.
    fileprivate func beyond(_ others: [Endpoint]) -> [Endpoint] {
        filter { place in !others.contains { $0.covers(place) } }
    }

    fileprivate func meet(_ others: [Endpoint]) -> Bool {
        contains { place in others.contains(where: place.overlaps) }
    }
}

extension DesiredState {
    /// The state without discovered receivers that are also a receiver of another `xdp_nat` listener, or that have
    /// their own port while the listener has several: the source port of their replies would be ambiguous. Such a
    /// receiver stays with a listener whose configuration names it, otherwise with the first listener in the
    /// configuration that found it.
    ///
    /// - Returns: the state, and how many receivers were removed, by listener.
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
    /// The endpoints of a receiver, port by port.
    func servers(of downstream: Downstream) -> [Endpoint] {
        ports.map { endpoint(of: downstream, at: $0) }
    }
}

extension Set {
    /// Inserts all elements, or none if one is present already or given twice.
    fileprivate mutating func claim(_ elements: [Element]) -> Bool {
        for (index, element) in elements.enumerated() where !insert(element).inserted {
            subtract(elements[..<index])
            return false
        }
        return true
    }
}

// Listeners with the same receivers, such as those of one service in several modes, share one slot table, which is
// built once.

extension DesiredState {
    /// The inputs of all listeners' slot tables.
    public var tableOrigins: Set<TableOrigin> { Set(listeners.map(\.tableOrigin)) }

    /// The slot tables that are built, for use in the next state.
    public var tablesAtHand: [TableOrigin: SlotTable] {
        listeners.reduce(into: [:]) { $0[$1.tableOrigin] = $1.tableAtHand }
    }

    /// The same state, in which listeners use the tables of `tables`.
    public func having(_ tables: [TableOrigin: SlotTable]) -> DesiredState {
        DesiredState(
            listeners: listeners.map { listener in
                tables[listener.tableOrigin].map { listener.having($0) } ?? listener
            })
    }
}
