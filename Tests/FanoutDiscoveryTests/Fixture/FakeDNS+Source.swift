// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet

@testable import FanoutDiscovery

extension FakeDNS {
    /// A source that asks this server, and whose patience is short.
    func source(
        log: LogRecorder, name: String = "r.example", port: UInt16? = nil, others: [Endpoint] = [],
        lastKnown: DiscoveredSet? = nil
    ) -> any DiscoverySource {
        DNSSource(
            DNSQuery(name: name, port: port), resolver: resolver(others: others),
            lastKnown: lastKnown,
            limits: .milliseconds(10)...(.seconds(3600)),
            backoff: Backoff(base: .milliseconds(10), longest: .milliseconds(50)),
            logger: log.logger)
    }

    /// Asks this server once, and waits for a second.
    func resolver(others: [Endpoint] = []) -> DNSResolver {
        DNSResolver(servers: others + [endpoint], timeout: 1, attempts: 1)
    }
}
