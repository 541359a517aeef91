// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

/// Receivers that were written out: found at once, and never others.
struct StaticSource: DiscoverySource {
    private let set: DiscoveredSet
    private let tally = SourceTally()

    init(_ endpoints: [Endpoint]) {
        set = DiscoveredSet(
            endpoints.map { endpoint in
                DiscoveredEndpoint(
                    address: endpoint.address, ports: [DiscoveredPort(number: endpoint.port)])
            })
    }

    func run(_ publish: @escaping @Sendable (DiscoveredSet) -> Void) async {
        publish(set)
        tally.relist(.start)
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
    }

    /// It is always up to date.
    var status: SourceStatus {
        var status = tally.status
        status.syncAge = .zero
        return status
    }
}
