// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import LinuxNet
public import Logging

/// Creates the sources of a daemon. Sources of one cluster share its address and credentials.
public struct Sources: Sendable {
    private let client: APIClient
    private let timing: WatchTiming
    private let logger: Logger

    /// - Parameter environment: returns a variable's value, or nil; locates the cluster.
    public init(logger: Logger, environment: @escaping @Sendable (String) -> String?) {
        self.init(
            access: ClusterAccess(logger: logger) { () throws(APIFailure) in
                try ClusterLocation.find(environment)
            },
            timing: WatchTiming(), logger: logger)
    }

    init(access: ClusterAccess, timing: WatchTiming, logger: Logger) {
        client = APIClient(access: access)
        self.timing = timing
        self.logger = logger
    }

    /// Creates a source, which has not started.
    ///
    /// - Parameter lastKnown: what a source of an earlier process found. Sources with answers in parts complete
    ///   them from it.
    public func source(
        for subject: DiscoverySubject, lastKnown: DiscoveredSet? = nil
    ) -> any DiscoverySource {
        switch subject {
        case .endpointSlices(let name):
            KubernetesSource(
                watch(.endpointSlices(name.namespace ?? "default", name.service)),
                merged: EndpointSlice.merged)
        case .loadBalancer(let name):
            KubernetesSource(
                watch(.service(name.namespace ?? "default", name.service)), merged: Service.merged)
        case .file(let path, let port): FileSource(path: path, port: port, logger: logger)
        case .dns(let query):
            DNSSource(
                query, resolver: DNSResolver(servers: query.server.map { [$0] } ?? []),
                lastKnown: lastKnown, logger: logger)
        case .fixed(let endpoints): StaticSource(endpoints)
        }
    }

    private func watch<Object>(_ resource: ResourcePath) -> ListWatch<Object> {
        ListWatch(
            client: client, resource: resource, timing: timing, tally: SourceTally(),
            logger: logger)
    }
}

extension Sources {
    /// The default namespace of services: the pod's own in a cluster, otherwise `default`. It is read once, since a
    /// pod never changes its namespace.
    public static let defaultNamespace = ClusterLocation.podNamespace() ?? "default"
}

extension Sources {
    /// Why no cluster can be queried, according to the environment and its files; nil: nothing is missing.
    public static func clusterFault(_ environment: (String) -> String?) -> String? {
        do throws(APIFailure) {
            try ClusterAccess.check(try ClusterLocation.find(environment))
            return nil
        } catch {
            return error.detail
        }
    }
}

/// Configured receivers: found at once, and never changed.
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

    /// Always up to date.
    var status: SourceStatus {
        var status = tally.status
        status.syncAge = .zero
        return status
    }
}
