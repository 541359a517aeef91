// SPDX-License-Identifier: Apache-2.0

/// The receivers of a listener, chosen from what a source has found.
///
/// The rules:
/// - Ready endpoints receive. Endpoints that are terminating and still serve have weight 0 beside them, and receive
///   only if no endpoint is ready.
/// - An endpoint with addresses of both families is one receiver: at the listener's family if possible, otherwise
///   at the other, if the listener can translate.
/// - At most `max_downstream`: ready ones first, then by address. Hosts with the same limit make the same choice,
///   and one endpoint more or less changes at most one receiver.
public struct ReceiverChoice: Equatable, Sendable {
    /// By address and port; names and endpoints are unique.
    public private(set) var downstreams: [Downstream] = []
    /// Ready endpoints, including the surplus.
    public private(set) var ready = 0
    /// Endpoints that are terminating and still serve, including the surplus.
    public private(set) var terminating = 0
    /// Endpoints in no other state.
    public private(set) var notReady = 0
    /// Endpoints without the port, or of a family that the listener cannot forward to.
    public private(set) var unsuitable = 0
    /// Unsuitable endpoints whose name has no suitable endpoint either, so they get nothing.
    public private(set) var unreached = 0
    /// Endpoints that could receive but exceed `max_downstream`.
    public private(set) var surplus = 0

    private struct Candidate {
        let name: String?
        let endpoint: Endpoint
        let readiness: DiscoveredEndpoint.Readiness
        let weight: UInt16
    }

    /// What the choice depends on. Listeners with equal terms have the same receivers.
    struct Terms: Hashable {
        let source: DiscoverySubject
        let port: ReceiverPort
        /// The listener's own family.
        let family: IPAddress.Family
        /// The families that it can forward to.
        let families: [IPAddress.Family]
        let onePerFamily: Bool
        let most: Int

        /// nil if the listener has no discovery.
        init?(_ listener: Listener) {
            guard let discovery = listener.discovery else { return nil }
            (source, port) = (discovery.receivers, discovery.port)
            family = listener.bind.address.family
            families = listener.receiverFamilies
            onePerFamily = listener.onePerFamily
            most = listener.settings.maxDownstream
        }
    }

    /// - Parameter set: what the listener's source has found; nil: nothing yet.
    public init(for listener: Listener, among set: DiscoveredSet?) {
        self.init(Terms(listener), among: set)
    }

    init(_ terms: Terms?, among set: DiscoveredSet?) {
        guard let terms, let set else { return }
        var unsuited: [String?] = []
        let suitable = candidates(in: set, terms.port, terms.families, without: &unsuited)
        let single = terms.onePerFamily ? Self.oneFamily(suitable, terms.family) : suitable
        let usable = Self.onePerName(single, preferring: terms.family)
        if let family = single.first?.endpoint.address.family, single.count < suitable.count {
            unsuited += suitable.filter { $0.endpoint.address.family != family }.map(\.name)
        }
        unsuitable = unsuited.count
        // A DNS name has addresses in both families and does not say which belong to one host.
        if case .dns = terms.source, !usable.isEmpty { unsuited.removeAll { $0 == nil } }
        unreached = Self.count(of: unsuited, beside: usable)
        let inUse = usable.filter { $0.readiness == .ready }
        let leaving = usable.filter { $0.readiness == .terminating }
        (ready, terminating) = (inUse.count, leaving.count)
        notReady = usable.count - ready - terminating
        let chosen = (inUse + leaving).prefix(terms.most)
        surplus = ready + terminating - chosen.count
        downstreams = named(chosen).sorted { $0.endpoint < $1.endpoint }
    }

    /// Endpoints with the port and an address of one of `families`, each once, in order.
    private func candidates(
        in set: DiscoveredSet, _ port: ReceiverPort, _ families: [IPAddress.Family],
        without: inout [String?]
    ) -> [Candidate] {
        var all: [Candidate] = []
        for found in set.endpoints {
            let numbers = port.numbers(among: found.ports)
            guard !numbers.isEmpty, families.contains(found.address.family) else {
                without.append(found.name)
                continue
            }
            for number in numbers {
                all.append(
                    Candidate(
                        name: found.name, endpoint: Endpoint(found.address, port: number),
                        readiness: found.readiness, weight: found.weight))
            }
        }
        // The set was sorted, so this is nearly sorted and cheap.
        all.sort { left, right in
            left.endpoint == right.endpoint
                ? left.readiness.rank < right.readiness.rank : left.endpoint < right.endpoint
        }
        var once: [Candidate] = []
        for candidate in all where candidate.endpoint != once.last?.endpoint {
            once.append(candidate)
        }
        return once
    }

    /// The number of distinct names that are not among `others`; each candidate without a name counts.
    private static func count(of names: [String?], beside others: [Candidate]) -> Int {
        guard !names.isEmpty else { return 0 }
        let known = Set(others.compactMap(\.name))
        let unknown = Set(names.compactMap { $0 }).subtracting(known)
        return unknown.count + names.count { $0 == nil }
    }

    /// The candidates of the listener's own family, or all if there are none.
    private static func oneFamily(
        _ all: [Candidate], _ family: IPAddress.Family
    ) -> [Candidate] {
        let own = all.filter { $0.endpoint.address.family == family }
        return own.isEmpty ? all : own
    }

    /// For names with addresses of both families, the candidates of one family; the order stays.
    private static func onePerName(
        _ all: [Candidate], preferring family: IPAddress.Family
    ) -> [Candidate] {
        func isOwn(_ candidate: Candidate) -> Bool { candidate.endpoint.address.family == family }
        guard all.contains(where: isOwn), !all.allSatisfy(isOwn) else { return all }
        /// The best state of a name in each family.
        var best: [String: (own: Int, other: Int)] = [:]
        for candidate in all {
            guard let name = candidate.name else { continue }
            var ranks = best[name] ?? (.max, .max)
            if isOwn(candidate) {
                ranks.own = min(ranks.own, candidate.readiness.rank)
            } else {
                ranks.other = min(ranks.other, candidate.readiness.rank)
            }
            best[name] = ranks
        }
        return all.filter { candidate in
            guard let ranks = candidate.name.flatMap({ best[$0] }) else { return true }
            return (ranks.own <= ranks.other) == isOwn(candidate)
        }
    }

    /// Names are the endpoints' own, or their address and port. A duplicate name gets address and port appended.
    private func named(_ chosen: ArraySlice<Candidate>) -> [Downstream] {
        var taken: Set<String> = []
        return chosen.map { candidate in
            var name = candidate.name ?? candidate.endpoint.description
            if !taken.insert(name).inserted {
                name += "@\(candidate.endpoint)"
                taken.insert(name)
            }
            let isIdle = candidate.readiness == .terminating && ready > 0
            return Downstream(
                name: name, endpoint: candidate.endpoint, weight: isIdle ? 0 : candidate.weight)
        }
    }
}

extension Listener {
    /// The families that the listener can forward to.
    fileprivate var receiverFamilies: [IPAddress.Family] {
        let own = bind.address.family
        let servesBoth = own == .v6 && bind.address.isWildcard
        return mode == .userspace && !preserveSource || servesBoth ? [.v4, .v6] : [own]
    }

    /// Whether it serves both families and cannot translate between them. A table with receivers of both would lose
    /// clients of each.
    fileprivate var onePerFamily: Bool {
        (mode != .userspace || preserveSource) && receiverFamilies.count > 1
    }
}
