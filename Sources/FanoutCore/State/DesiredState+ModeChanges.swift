// SPDX-License-Identifier: Apache-2.0

// A listener of another mode that takes over an address comes before the one before it goes: whoever of
// the two meets a packet meanwhile forwards it.

extension DesiredState {
    /// This state, and beside it those listeners of `former` that another mode succeeds at one of their ports.
    /// Names are unique by mode alone.
    ///
    /// Not those that could not stand beside it: an interface has one XDP program, and a server of mode `xdp_nat`
    /// one listener.
    public func besideSucceeded(of former: DesiredState) -> DesiredState {
        let before = Set(former.listeners.map(Identity.init))
        let now = Set(listeners.map(Identity.init))
        let leaving = former.listeners.filter { !now.contains(Identity($0)) }
        let coming = listeners.filter { !before.contains(Identity($0)) }
        guard !leaving.isEmpty, !coming.isEmpty else { return self }
        var taken = Set<Endpoint>()
        for listener in listeners where listener.mode == .xdpNAT {
            taken.formUnion(listener.servers)
        }
        let kept = leaving.filter { listener in
            let atItsPort = coming.filter { !Set($0.ports).isDisjoint(with: listener.ports) }
            return !atItsPort.isEmpty
                && atItsPort.allSatisfy {
                    $0.mode != listener.mode && !$0.sharesXDPHook(with: listener)
                }
                && (listener.mode != .xdpNAT || taken.isDisjoint(with: listener.servers))
        }
        return DesiredState(listeners: listeners + kept)
    }

    private struct Identity: Hashable {
        let name: String
        let mode: ForwardingMode

        init(_ listener: Listener) { (name, mode) = (listener.name, listener.mode) }
    }
}

extension Listener {
    /// Everywhere where its receivers are met.
    fileprivate var servers: [Endpoint] { downstreams.flatMap(servers(of:)) }

    fileprivate func sharesXDPHook(with other: Listener) -> Bool {
        mode.hooksXDP && other.mode.hooksXDP && interface == other.interface
    }
}

extension ForwardingMode {
    fileprivate var hooksXDP: Bool { self == .afXDP || self == .xdpNAT }
}
