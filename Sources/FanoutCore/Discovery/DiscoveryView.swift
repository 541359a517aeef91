// SPDX-License-Identifier: Apache-2.0

/// What the sources have found by one moment: an input of the desired state, beside the configuration
/// and health.
public struct DiscoveryView: Equatable, Sendable {
    /// A subject that has not been found out about yet is not in it.
    public var sets: [DiscoverySubject: DiscoveredSet]

    public init(_ sets: [DiscoverySubject: DiscoveredSet] = [:]) { self.sets = sets }
}

extension DesiredState {
    /// The state in which listeners have the receivers, and serve the addresses, that were found. As
    /// long as nothing was, a listener has no receivers.
    public func applying(_ view: DiscoveryView) -> DesiredState { apply(view).state }

    /// The same, and how many receivers were found and are not used since they lead back to their listener, by
    /// listener.
    public func apply(_ view: DiscoveryView) -> (state: DesiredState, loops: [String: Int]) {
        struct Place: Hashable {
            let interface: String?
            let destination: Endpoint
        }
        guard listeners.contains(where: { $0.discovery != nil }) else { return (self, [:]) }
        func places(_ listener: Listener) -> [Place] {
            guard case .listed(let more) = listener.served else { return [] }
            return (more + [listener.bind.address]).map {
                Place(
                    interface: listener.interface,
                    destination: Endpoint($0, port: listener.bind.port))
            }
        }
        // An address goes to the first listener that serves it on a port.
        var taken = Set(listeners.flatMap(places))
        var choices: [ReceiverChoice.Terms: ReceiverChoice] = [:]
        var result = self
        for index in listeners.indices {
            let listener = listeners[index]
            guard let discovery = listener.discovery, let terms = ReceiverChoice.Terms(listener)
            else { continue }
            let choice =
                choices[terms] ?? ReceiverChoice(terms, among: view.sets[terms.source])
            choices[terms] = choice
            result.listeners[index].downstreams = choice.downstreams
            guard let subject = discovery.addresses, let found = view.sets[subject]?.addresses,
                case .listed(let own) = listener.served
            else { continue }
            let more = found.filter {
                taken.insert(
                    Place(
                        interface: listener.interface,
                        destination: Endpoint($0, port: listener.bind.port))
                ).inserted
            }
            result.listeners[index].served = .listed(own + more)
        }
        return result.withoutLoops()
    }

    /// Everything that has to be looked up for the listeners.
    public var subjects: Set<DiscoverySubject> {
        Set(listeners.flatMap { $0.discovery?.subjects ?? [] })
    }
}

/// Where the view comes from.
public protocol DiscoveryViewSource: Sendable {
    /// What is known at this moment.
    func view() async -> DiscoveryView
}
