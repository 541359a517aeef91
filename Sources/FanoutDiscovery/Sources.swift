// SPDX-License-Identifier: Apache-2.0

public import FanoutCore
internal import LinuxNet
public import Logging

/// Makes the sources that a daemon follows. Those of one cluster share its address and credentials.
public struct Sources: Sendable {
    private let client: APIClient
    private let timing: WatchTiming
    private let logger: Logger

    /// - Parameter environment: a variable's value, or nil; tells where the cluster is.
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

    /// A source that has not begun.
    ///
    /// - Parameter lastKnown: what a source of an earlier process found. Sources whose answers come in parts
    ///   complete them from it.
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
    /// The namespace of services that name none: the pod's own in a cluster, else `default`. A pod stays in its
    /// namespace, so it is read once.
    public static let defaultNamespace = ClusterLocation.podNamespace() ?? "default"
}

extension Sources {
    /// Why no cluster can be asked, as far as the environment and the files that it leads to tell; nil: nothing is
    /// missing.
    public static func clusterFault(_ environment: (String) -> String?) -> String? {
        do throws(APIFailure) {
            try ClusterAccess.check(try ClusterLocation.find(environment))
            return nil
        } catch {
            return error.detail
        }
    }
}

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
