// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// What a source has been told so far: the last answer to each question.
struct DNSKnowledge {
    struct Question: Hashable {
        let name: String
        let type: DNSRecordType
    }

    var answers: [Question: DNSAnswer] = [:]

    /// What has to be asked for a query, as far as is known: for SRV records, what they name too.
    func questions(of query: DNSQuery) -> [Question] {
        guard query.port == nil else { return Self.addresses(of: query.name) }
        let first = Question(name: query.name, type: .srv)
        return [first] + targets(of: query).flatMap(Self.addresses)
    }

    private static func addresses(of name: String) -> [Question] {
        [Question(name: name, type: .a), Question(name: name, type: .aaaa)]
    }

    /// The hosts that SRV records name, each once. A target of the root means that there is nobody
    /// (RFC 2782).
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

    /// Drops the answers that no longer matter.
    mutating func forget(allBut query: DNSQuery) {
        let wanted = Set(questions(of: query))
        answers = answers.filter { wanted.contains($0.key) }
    }

    /// The receivers; nil as long as too little is known: one of both families, or the SRV records and
    /// an address of each.
    func set(of query: DNSQuery) -> DiscoveredSet? {
        if let port = query.port {
            guard let found = addresses(of: query.name) else { return nil }
            return DiscoveredSet(
                found.filter(\.canReceive).map {
                    DiscoveredEndpoint(address: $0, ports: [DiscoveredPort(number: port)])
                }, unusable: Self.unusable(found))
        }
        guard answers[Question(name: query.name, type: .srv)] != nil else { return nil }
        var endpoints: [DiscoveredEndpoint] = []
        var unusable: [DiscoveredSet.Unusable: Int] = [:]
        // Only the most wanted take part, as long as one of them has an address.
        for group in Dictionary(grouping: services(of: query), by: \.priority).sorted(by: {
            $0.key < $1.key
        }) {
            for service in group.value {
                guard let found = addresses(of: service.target) else { return nil }
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
        return DiscoveredSet(endpoints, unusable: unusable)
    }

    /// Of both families; nil when neither is known.
    private func addresses(of name: String) -> [IPAddress]? {
        let known = Self.addresses(of: name).compactMap { answers[$0] }
        guard !known.isEmpty else { return nil }
        return known.flatMap(\.records).compactMap { record in
            guard case .address(let address) = record.value else { return nil }
            return address
        }
    }

    private static func unusable(_ found: [IPAddress]) -> [DiscoveredSet.Unusable: Int] {
        let count = found.count { !$0.canReceive }
        return count > 0 ? [.badAddress: count] : [:]
    }
}
