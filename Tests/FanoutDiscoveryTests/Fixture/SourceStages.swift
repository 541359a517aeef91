// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet

@testable import FanoutDiscovery

struct KubernetesStage: SourceStage {
    private let stage: ClusterStage

    init() throws { stage = try ClusterStage() }

    func source() throws -> any DiscoverySource {
        try stage.sources().source(for: ClusterStage.slices())
    }

    func have(_ addresses: [String]) throws {
        try stage.cluster.put(Slice("s-1", addresses.map { Slice.Endpoint($0) }))
    }

    func breakDown() async throws { await stage.cluster.stop() }
    func mend() async throws { try stage.cluster.start() }
}

struct FileStage: SourceStage {
    private let folder: ScratchFolder
    let log = LogRecorder()

    init() throws {
        folder = try ScratchFolder()
        try have([])
    }

    func source() throws -> any DiscoverySource {
        FileSource(
            path: folder.path("receivers"), port: 9000, interval: .milliseconds(5),
            logger: log.logger)
    }

    func have(_ addresses: [String]) throws {
        let text = "# receivers\n" + addresses.map { $0 + "\n" }.joined()
        try folder.replace("receivers", with: text)
    }

    func breakDown() async throws { try folder.replace("receivers", with: "10.0.0.\n") }
    func mend() async throws {}
}

struct DNSStage: SourceStage {
    private let server: FakeDNS
    let log = LogRecorder()

    init() throws { server = try FakeDNS() }

    func source() throws -> any DiscoverySource { server.source(log: log, port: 9000) }

    func have(_ addresses: [String]) throws {
        server.set(addresses.map { .address("r.example", $0) })
    }

    func breakDown() async throws { server.fail(code: 2) }
    func mend() async throws { server.fail(code: 0) }
}
