// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet
import Logging
import Synchronization

@testable import FanoutDiscovery

/// A source that runs, and what it has published.
final class Follower: Sendable {
    let source: any DiscoverySource
    private let published: Published
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(_ source: any DiscoverySource) {
        self.source = source
        let published = Published()
        self.published = published
        let task = Task { await source.run { published.add($0) } }
        self.task.withLock { $0 = task }
    }

    deinit { task.withLock { $0?.cancel() } }

    func stop() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    private final class Published: Sendable {
        private let sets = Mutex<[DiscoveredSet]>([])
        var all: [DiscoveredSet] { sets.withLock { $0 } }
        func add(_ set: DiscoveredSet) { sets.withLock { $0.append(set) } }
    }

    var sets: [DiscoveredSet] { published.all }
    /// The addresses of the endpoints that were published last; nil before the first.
    var addresses: [String]? { sets.last?.endpoints.map { "\($0.address)" } }

    /// Waits until these addresses are the last that were published.
    func shows(_ addresses: String..., within limit: Duration = .seconds(10)) async throws {
        try await eventually(within: limit, "\(addresses), not \(self.addresses ?? [])") {
            self.addresses == addresses
        }
    }

    func error(_ code: String) -> UInt64 { source.status.errors[code] ?? 0 }
    func relists(_ reason: RelistReason) -> UInt64 { source.status.relists[reason.rawValue] ?? 0 }

    func counts(error code: String, times: UInt64 = 1) async throws {
        do {
            try await eventually("error \(code)") { self.error(code) >= times }
        } catch {
            throw Mismatch(what: "error \(code), not \(source.status)")
        }
    }

    struct Mismatch: Error { let what: String }

    func counts(relist reason: RelistReason, times: UInt64 = 1) async throws {
        try await eventually("relist \(reason), not \(source.status)") {
            self.relists(reason) >= times
        }
    }
}

extension WatchTiming {
    /// Of a test, which has no time.
    static var quick: WatchTiming {
        WatchTiming(
            backoffBase: .milliseconds(20), longestBackoff: .milliseconds(200), pageSize: 2,
            listLimit: .milliseconds(500))
    }
}

/// One cluster, and those who follow it.
struct ClusterStage {
    static let identity = Result { try Identity() }

    let cluster: FakeCluster
    let log = LogRecorder()
    let folder: ScratchFolder

    init(
        identity: Identity? = nil, token: String? = nil, asksForCertificate: Bool = false
    ) throws {
        cluster = try FakeCluster(
            identity ?? Self.identity.get(), tokens: token.map { [$0] },
            asksForCertificate: asksForCertificate)
        folder = try ScratchFolder()
    }

    /// The sources of a client that finds the cluster by a kubeconfig.
    func sources(
        user: String = "token: t", server: String? = nil, timing: WatchTiming = .quick,
        rereading interval: Duration = .seconds(60)
    ) throws -> Sources {
        let path = try folder.write(
            try cluster.kubeconfig(user: user, server: server), to: "kubeconfig")
        return sources(timing: timing, rereading: interval) { $0 == "KUBECONFIG" ? path : nil }
    }

    func sources(
        timing: WatchTiming = .quick, rereading interval: Duration = .seconds(60),
        podFolder: String = ClusterLocation.podFolder,
        _ environment: @escaping @Sendable (String) -> String?
    ) -> Sources {
        let access = ClusterAccess(interval: interval, logger: log.logger) {
            () throws(APIFailure) in
            try ClusterLocation.find(environment, podFolder: podFolder)
        }
        return Sources(access: access, timing: timing, logger: log.logger)
    }

    static func slices(_ service: String = "s") -> DiscoverySubject {
        .endpointSlices(.init(namespace: nil, service: service))
    }

    func follow(_ sources: Sources? = nil, _ service: String = "s") throws -> Follower {
        let sources = try sources ?? self.sources()
        return Follower(sources.source(for: Self.slices(service)))
    }
}
