// SPDX-License-Identifier: Apache-2.0

/// What the sources have found at one moment: an input of the desired state, beside the configuration and health.
public struct DiscoveryView: Equatable, Sendable {
    /// Contains only subjects that have an answer.
    public var sets: [DiscoverySubject: DiscoveredSet]
    /// Used until the subject has an answer.
    public var lastKnowns: [LastKnown.Place: LastKnown]
    /// Addresses of this host. A receiver at one of them may form a loop with a wildcard listener.
    public var ownAddresses: Set<IPAddress>

    public init(
        _ sets: [DiscoverySubject: DiscoveredSet] = [:],
        lastKnowns: [LastKnown.Place: LastKnown] = [:], ownAddresses: Set<IPAddress> = []
    ) {
        self.sets = sets
        self.lastKnowns = lastKnowns
        self.ownAddresses = ownAddresses
    }

    /// Whether the subject is answered completely. Until then last-known receivers may be used.
    public func isAnswered(_ subject: DiscoverySubject) -> Bool {
        sets[subject]?.isPartial == false
    }
}

extension DesiredState {
    /// The state with the receivers and addresses that were found. Until something is found, a listener has its
    /// last-known receivers, or none.
    public func applying(_ view: DiscoveryView) -> DesiredState { apply(view).state }

    /// The same, and for each listener how many receivers were found but cannot be used beside the rest of the
    /// state.
    public func apply(
        _ view: DiscoveryView
    ) -> (state: DesiredState, leftOut: [String: [DiscoveryReport.Unused: Int]]) {
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
        // Of listeners on the same port, the first one gets an address.
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
            func lastKnown(for subject: DiscoverySubject) -> LastKnown? {
                guard !view.isAnswered(subject) else { return nil }
                return view.lastKnowns[LastKnown.Place(listener: listener.name, subject: subject)]
            }
            if choice.downstreams.isEmpty, let lastKnown = lastKnown(for: terms.source) {
                result.listeners[index].downstreams = terms.fitting(lastKnown.downstreams)
            }
            guard let subject = discovery.addresses, case .listed(let own) = listener.served,
                let found = view.sets[subject]?.addresses ?? lastKnown(for: subject)?.addresses
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
        let (open, loops) = result.withoutLoops(on: view.ownAddresses)
        let (state, shared) = open.withoutSharedServers()
        let leftOut = [DiscoveryReport.Unused.loop: loops, .shared: shared]
        return (
            state,
            leftOut.reduce(into: [:]) { result, counts in
                for (name, count) in counts.value { result[name, default: [:]][counts.key] = count }
            }
        )
    }

    /// Everything to look up for the listeners.
    public var subjects: Set<DiscoverySubject> {
        Set(listeners.flatMap { $0.discovery?.subjects ?? [] })
    }
}
