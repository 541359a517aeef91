// SPDX-License-Identifier: Apache-2.0

// A listener of another mode that takes over an address comes before the one before it goes: whoever of
// the two meets a packet meanwhile forwards it.

extension DesiredState {
    /// The states by which planes are led from `former` to this one, the last of which this is: a listener whose
    /// port another mode takes over stays as it was until that is there, where both can be.
    public func steps(from former: DesiredState) -> [DesiredState] {
        var steps: [DesiredState] = []
        var reached = former
        // Two that exchange their ports would wait for each other.
        while case let next = besideSucceeded(of: reached), next != self, next != reached {
            steps.append(next)
            reached = next
        }
        return steps + [self]
    }

    /// This state, but with those listeners of `former` as they were that have a port which another mode takes
    /// over. Names are unique by mode alone.
    ///
    /// Not those that could not stand beside it: an interface has one XDP program, and a server of mode `xdp_nat`
    /// one listener.
    private func besideSucceeded(of former: DesiredState) -> DesiredState {
        let before = Dictionary(
            uniqueKeysWithValues: former.listeners.map { (Identity($0), Set($0.ports)) })
        let now = Dictionary(uniqueKeysWithValues: listeners.map { (Identity($0), Set($0.ports)) })
        let coming = listeners.map { listener in
            (listener, ports: Set(listener.ports).subtracting(before[Identity(listener)] ?? []))
        }
        let kept = former.listeners.filter { listener in
            let ports = Set(listener.ports)
            let left = ports.subtracting(now[Identity(listener)] ?? [])
            let newcomers = coming.filter { !$0.ports.isDisjoint(with: ports) }.map(\.0)
            let others = listeners.filter { Identity($0) != Identity(listener) }
            return coming.contains { !$0.ports.isDisjoint(with: left) }
                && newcomers.allSatisfy { listener.canStand(besideNew: $0) }
                && listener.sharesNoServer(with: others)
        }
        let identities = Set(kept.map(Identity.init))
        return DesiredState(
            listeners: listeners.filter { !identities.contains(Identity($0)) } + kept)
    }

    /// The modes that give up an interface's XDP hook, which another mode takes over.
    public func modesYieldingHooks(from former: DesiredState) -> Set<ForwardingMode> {
        let now = hooks
        return Set(former.hooks.filter { $0.value != now[$0.key, default: $0.value] }.values)
    }

    /// Who has the XDP hook, by the name of the interface.
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
    /// - Parameter other: which comes to one of its ports.
    fileprivate func canStand(besideNew other: Listener) -> Bool {
        let sharesHook = mode.hooksXDP && other.mode.hooksXDP && interface == other.interface
        return other.mode != mode && !sharesHook
    }

    fileprivate func sharesNoServer(with others: [Listener]) -> Bool {
        guard mode == .xdpNAT else { return true }
        let taken = others.filter { $0.mode == mode }.flatMap(\.servers)
        return Set(servers).isDisjoint(with: taken)
    }

    /// Everywhere where its receivers are met.
    private var servers: [Endpoint] { downstreams.flatMap(servers(of:)) }
}

extension ForwardingMode {
    fileprivate var hooksXDP: Bool { self == .afXDP || self == .xdpNAT }
}
