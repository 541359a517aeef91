// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet

@testable import FanoutDiscovery

extension FakeDNS {
    /// A source that asks this server, and whose patience is short.
    func source(
        log: LogRecorder, name: String = "r.example", port: UInt16? = nil, others: [Endpoint] = [],
        lastKnown: DiscoveredSet? = nil, timeout: Duration = .milliseconds(200)
    ) -> any DiscoverySource {
        var servers = DNSServers(others + [endpoint])
        servers.timeout = timeout
        servers.attempts = 1
        let list = servers
        return DNSSource(
            DNSQuery(name: name, port: port), resolver: DNSResolver { list },
            lastKnown: lastKnown,
            limits: .milliseconds(10)...(.seconds(3600)),
            backoff: Backoff(base: .milliseconds(10), longest: .milliseconds(50)),
            logger: log.logger)
    }
}
