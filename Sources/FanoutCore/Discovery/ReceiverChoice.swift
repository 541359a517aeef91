// SPDX-License-Identifier: Apache-2.0

/// The receivers of one listener among what a source has found.
///
/// The rules:
/// - Ready endpoints receive. Those that are terminating and still serve have weight 0 beside them, and
///   receive only if no endpoint is ready.
/// - An endpoint with addresses of both families is one receiver: at the listener's family if it can be,
///   else at the other, if the listener can cross over.
/// - At most `max_downstream`, ready ones first, then by address: every host with the same limit makes
///   the same choice, and one more or less changes no more than one.
public struct ReceiverChoice: Equatable, Sendable {
    /// By address and port; names are unique, and so are endpoints.
    public private(set) var downstreams: [Downstream] = []
    /// Endpoints that are ready, the surplus included.
    public private(set) var ready = 0
    /// Endpoints that are terminating and still serve, the surplus included.
    public private(set) var terminating = 0
    /// Endpoints that are neither.
    public private(set) var notReady = 0
    /// Endpoints without the port, or of a family that the listener cannot forward to.
    public private(set) var unsuitable = 0
    /// Of those the ones that have no suitable port and address besides either: they get nothing.
    public private(set) var unreached = 0
    /// Endpoints that could receive and are beyond `max_downstream`.
    public private(set) var surplus = 0

    private struct Candidate {
        let name: String?
        let endpoint: Endpoint
        let readiness: DiscoveredEndpoint.Readiness
        let weight: UInt16
    }

    /// What it is a choice for. Listeners that are alike in this have the same receivers.
    struct Terms: Hashable {
        let source: DiscoverySubject
        let port: ReceiverPort
        /// The listener's own.
        let family: IPAddress.Family
        /// Those that it can forward to.
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
        // A name in the DNS has its hosts' addresses in both families, and does not say whose is whose.
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

    /// What has the port and an address of one of `families`, each endpoint once, in order.
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
        // They are nearly in order, as the set was, so this is cheap.
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

    /// The number of distinct names that are not among the others; each candidate without a name counts.
    private static func count(of names: [String?], beside others: [Candidate]) -> Int {
        guard !names.isEmpty else { return 0 }
        let known = Set(others.compactMap(\.name))
        let unknown = Set(names.compactMap { $0 }).subtracting(known)
        return unknown.count + names.count { $0 == nil }
    }

    /// Those of the listener's own family, or all when there are none.
    private static func oneFamily(
        _ all: [Candidate], _ family: IPAddress.Family
    ) -> [Candidate] {
        let own = all.filter { $0.endpoint.address.family == family }
        return own.isEmpty ? all : own
    }

    /// Of who has addresses of both families, those of one; the order stays.
    private static func onePerName(
        _ all: [Candidate], preferring family: IPAddress.Family
    ) -> [Candidate] {
        func isOwn(_ candidate: Candidate) -> Bool { candidate.endpoint.address.family == family }
        guard all.contains(where: isOwn), !all.allSatisfy(isOwn) else { return all }
        /// The best state of a name in each of the families.
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

    /// Names are the endpoints' own, or their address and port; of equal names all but the first have
    /// it appended.
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
    /// The families of receivers that the listener can forward to.
    fileprivate var receiverFamilies: [IPAddress.Family] {
        let own = bind.address.family
        let servesBoth = own == .v6 && bind.address.isWildcard
        return mode == .userspace && !preserveSource || servesBoth ? [.v4, .v6] : [own]
    }

    /// Whether it serves both families and cannot cross from one to the other: receivers of both in one
    /// table would each lose the clients of the other.
    fileprivate var onePerFamily: Bool {
        (mode != .userspace || preserveSource) && receiverFamilies.count > 1
    }
}
