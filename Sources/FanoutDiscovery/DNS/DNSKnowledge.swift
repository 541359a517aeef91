// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// What a source knows: the last answer to each question.
struct DNSKnowledge {
    struct Question: Hashable {
        let name: String
        let type: DNSRecordType
    }

    private(set) var answers: [Question: DNSAnswer] = [:]

    /// - Parameter lastKnown: what another process found for the same query. Its addresses are used until the
    ///   servers answer the corresponding questions.
    init(of query: DNSQuery, lastKnown: DiscoveredSet? = nil) {
        for endpoint in lastKnown?.endpoints ?? [] {
            guard let name = query.port == nil ? endpoint.name : query.name else { continue }
            let record = DNSRecord(name: name, ttl: 0, value: .address(endpoint.address))
            let type: DNSRecordType = endpoint.address.family == .v4 ? .a : .aaaa
            answers[Question(name: name, type: type), default: DNSAnswer(records: [], ttl: .zero)]
                .records.append(record)
        }
    }

    /// The question for SRV records; nil for a query of addresses.
    static func services(of query: DNSQuery) -> Question? {
        query.port == nil ? Question(name: query.name, type: .srv) : nil
    }

    static func addresses(of name: String) -> [Question] {
        [Question(name: name, type: .a), Question(name: name, type: .aaaa)]
    }

    /// The names whose addresses receive, as far as known.
    func names(of query: DNSQuery) -> [String] {
        query.port == nil ? targets(of: query) : [query.name]
    }

    /// Takes the answer to a question about SRV records.
    mutating func learn(_ answer: DNSAnswer, to question: Question) { answers[question] = answer }

    /// Adds the results of a lookup of a name's addresses. Addresses of one family suffice; those of the other are
    /// kept if it was not answered. Only answers about both families can say that there are none.
    mutating func learn(_ found: [Question: DNSAnswer], addressesOf name: String) {
        let questions = Self.addresses(of: name)
        let merged = questions.compactMap { found[$0] ?? answers[$0] }
        guard found.count == questions.count || merged.contains(where: { !$0.addresses.isEmpty })
        else { return }
        answers.merge(found) { $1 }
    }

    /// The hosts of the SRV records, each once. The root as target means that there is none (RFC 2782).
    private func targets(of query: DNSQuery) -> [String] {
        var seen: Set<String> = []
        return services(of: query).map(\.target).filter { seen.insert($0).inserted }
    }

    private struct Service {
        let priority: UInt16
        let weight: UInt16
        let port: UInt16
        let target: String
    }

    private func services(of query: DNSQuery) -> [Service] {
        let records = answers[Question(name: query.name, type: .srv)]?.records ?? []
        return records.compactMap { record in
            guard case .service(let priority, let weight, let port, let target) = record.value,
                !target.isEmpty, port != 0
            else { return nil }
            return Service(priority: priority, weight: weight, port: port, target: target)
        }
    }

    /// Drops answers that are no longer needed; that is unknown until the SRV records are known.
    mutating func forget(allBut query: DNSQuery) {
        let services = Self.services(of: query)
        if let services, answers[services] == nil { return }
        let wanted = Set(
            (services.map { [$0] } ?? []) + names(of: query).flatMap(Self.addresses))
        answers = answers.filter { wanted.contains($0.key) }
    }

    /// The receivers; nil until receivers, or their absence, are known.
    func set(of query: DNSQuery) -> DiscoveredSet? {
        var result = receivers(of: query)
        result?.isPartial = names(of: query).flatMap(Self.addresses).contains { answers[$0] == nil }
        return result
    }

    private func receivers(of query: DNSQuery) -> DiscoveredSet? {
        if let port = query.port {
            guard let found = addresses(of: query.name) else { return nil }
            return DiscoveredSet(
                found.filter(\.canReceive).map {
                    DiscoveredEndpoint(address: $0, ports: [DiscoveredPort(number: port)])
                }, unusable: Self.unusable(found))
        }
        guard answers[Question(name: query.name, type: .srv)] != nil else { return nil }
        var isCertain = true
        var endpoints: [DiscoveredEndpoint] = []
        var unusable: [DiscoveredSet.Unusable: Int] = [:]
        // Only targets of the best priority are used, if one of them has an address.
        for group in Dictionary(grouping: services(of: query), by: \.priority).sorted(by: {
            $0.key < $1.key
        }) {
            for service in group.value {
                guard let found = addresses(of: service.target) else {
                    isCertain = false
                    continue
                }
                unusable.merge(Self.unusable(found), uniquingKeysWith: +)
                endpoints += found.filter(\.canReceive).map {
                    DiscoveredEndpoint(
                        name: service.target, address: $0,
                        ports: [DiscoveredPort(number: service.port)],
                        weight: max(1, service.weight))
                }
            }
            if !endpoints.isEmpty { break }
        }
        return isCertain || !endpoints.isEmpty ? DiscoveredSet(endpoints, unusable: unusable) : nil
    }

    /// Of both families; nil if neither is known.
    private func addresses(of name: String) -> [IPAddress]? {
        let known = Self.addresses(of: name).compactMap { answers[$0] }
        guard !known.isEmpty else { return nil }
        return known.flatMap(\.addresses)
    }

    private static func unusable(_ found: [IPAddress]) -> [DiscoveredSet.Unusable: Int] {
        let count = found.count { !$0.canReceive }
        return count > 0 ? [.badAddress: count] : [:]
    }
}

extension DNSAnswer {
    fileprivate var addresses: [IPAddress] {
        records.compactMap { if case .address(let address) = $0.value { address } else { nil } }
    }
}
