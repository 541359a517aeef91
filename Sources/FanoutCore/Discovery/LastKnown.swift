// SPDX-License-Identifier: Apache-2.0

/// The receivers and addresses of a listener from before it named a subject that has not answered yet.
///
/// It belongs to the listener, not to the subject: listeners that move to one subject had different receivers
/// before.
public struct LastKnown: Equatable, Sendable {
    /// The listener, and the subject without an answer.
    public struct Place: Hashable, Sendable {
        public let listener: String
        public let subject: DiscoverySubject

        public init(listener: String, subject: DiscoverySubject) {
            self.listener = listener
            self.subject = subject
        }
    }

    /// As configured or found, regardless of health, drains and slow start.
    public var downstreams: [Downstream]
    /// Only addresses that were found.
    public var addresses: [IPAddress]

    public init(downstreams: [Downstream] = [], addresses: [IPAddress] = []) {
        self.downstreams = downstreams
        self.addresses = addresses
    }
}

extension ReceiverChoice.Terms {
    /// The previous receivers that the listener can still forward to, in their order. If there are too many,
    /// receivers with a share come first, then lower addresses.
    func fitting(_ previous: [Downstream]) -> [Downstream] {
        let reached = previous.filter { families.contains($0.endpoint.address.family) }
        let own = reached.filter { $0.endpoint.address.family == family }
        let usable = onePerFamily && !own.isEmpty ? own : reached
        guard usable.count > most else { return usable }
        let best = usable.sorted {
            $0.isReady == $1.isReady ? $0.endpoint < $1.endpoint : $0.isReady
        }
        let chosen = Set(best.prefix(most).map(\.endpoint))
        return usable.filter { chosen.contains($0.endpoint) }
    }
}

extension DesiredState {
    /// Every listener and subject that may have last-known receivers.
    public var lastKnownPlaces: Set<LastKnown.Place> {
        Set(
            listeners.flatMap { listener in
                (listener.discovery?.subjects ?? []).map {
                    LastKnown.Place(listener: listener.name, subject: $0)
                }
            })
    }

    /// The subjects of listeners that have neither an answer nor last-known receivers.
    public func unknownSubjects(in view: DiscoveryView) -> Set<DiscoverySubject> {
        let unknown = lastKnownPlaces.filter {
            view.sets[$0.subject] == nil && view.lastKnowns[$0] == nil
        }
        return Set(unknown.map(\.subject))
    }

    /// The last-known receivers for subjects without an answer, of listeners that had receivers.
    ///
    /// - Parameters:
    ///   - previous: the previous state; listeners are matched by name.
    ///   - view: the answers for the subjects of both.
    public func lastKnowns(after previous: DesiredState, _ view: DiscoveryView) -> [LastKnown.Place:
        LastKnown]
    {
        let before = previous.applying(view)
        var written: [String: ServedAddresses] = [:]
        for listener in previous.listeners { written[listener.name] = listener.served }
        var result: [LastKnown.Place: LastKnown] = [:]
        for old in before.listeners {
            guard let discovery = listeners.first(where: { $0.name == old.name })?.discovery
            else { continue }
            func stand(for subject: DiscoverySubject, _ lastKnown: LastKnown) {
                let place = LastKnown.Place(listener: old.name, subject: subject)
                guard !view.isAnswered(subject), lastKnown != LastKnown() else { return }
                // Existing last-known receivers are kept: the previous state may lack some of them.
                result[place] = view.lastKnowns[place] ?? lastKnown
            }
            stand(for: discovery.receivers, LastKnown(downstreams: old.downstreams))
            guard let subject = discovery.addresses, case .listed(let all) = old.served,
                case .listed(let own) = written[old.name]
            else { continue }
            stand(for: subject, LastKnown(addresses: Array(all.dropFirst(own.count))))
        }
        return result
    }
}
