// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import Logging

/// Receivers of a DNS name: its addresses, or the hosts of its SRV records. It queries again when the TTL has
/// expired. A failed question keeps the last-known addresses of its family; only answers about both families can
/// say that a name has none.
struct DNSSource: DiscoverySource {
    private let query: DNSQuery
    private let lastKnown: DiscoveredSet?
    private let resolver: DNSResolver
    private let limits: ClosedRange<Duration>
    private let backoff: Backoff
    private let logger: Logger
    private let tally = SourceTally()

    /// - Parameters:
    ///   - lastKnown: what an earlier process found for the query; nil: nothing.
    ///   - limits: the shortest and the longest time between two queries, whatever the TTL.
    init(
        _ query: DNSQuery, resolver: DNSResolver, lastKnown: DiscoveredSet? = nil,
        limits: ClosedRange<Duration> = .seconds(1)...(.seconds(3600)),
        backoff: Backoff = Backoff(), logger: Logger
    ) {
        self.query = query
        self.lastKnown = lastKnown
        self.resolver = resolver
        self.limits = limits
        self.backoff = backoff
        self.logger = logger
    }

    var status: SourceStatus { tally.status }

    func run(_ publish: @escaping @Sendable (DiscoveredSet) -> Void) async {
        var known = DNSKnowledge(of: query, lastKnown: lastKnown)
        var backoff = backoff
        var last: DNSFailure?
        tally.relist(.start)
        while !Task.isCancelled {
            var failure: DNSFailure?
            var wait = limits.upperBound
            func ask(_ question: DNSKnowledge.Question) async -> DNSAnswer? {
                do throws(DNSFailure) {
                    let answer = try await resolver.ask(question.name, question.type)
                    wait = min(wait, answer.ttl)
                    return answer
                } catch {
                    tally.error(error.code)
                    failure = error
                    return nil
                }
            }
            if let question = DNSKnowledge.services(of: query), let answer = await ask(question) {
                known.learn(answer, to: question)
            }
            for name in known.names(of: query) {
                var found: [DNSKnowledge.Question: DNSAnswer] = [:]
                for question in DNSKnowledge.addresses(of: name) where !Task.isCancelled {
                    found[question] = await ask(question)
                }
                known.learn(found, addressesOf: name)
            }
            if Task.isCancelled { return }
            known.forget(allBut: query)
            if let set = known.set(of: query) { publish(set) }
            if let failure {
                note(failure, after: last)
                wait = backoff.next()
            } else {
                tally.confirm()
                backoff.reset()
                if last != nil {
                    logger.info(
                        "dns discovery: the servers answer again",
                        metadata: ["name": "\(query.name)"])
                }
            }
            last = failure
            try? await Task.sleep(for: max(wait, failure == nil ? limits.lowerBound : wait))
            if !Task.isCancelled { tally.relist(.expired) }
        }
    }

    private func note(_ failure: DNSFailure, after last: DNSFailure?) {
        guard failure.code != last?.code else { return }
        logger.warning(
            tally.hasAnswered
                ? "dns discovery: no answer, the last-known receivers stay active"
                : "dns discovery: no answer",
            metadata: [
                "name": "\(query.name)", "error": "\(failure.detail)", "code": "\(failure.code)",
            ])
    }
}
