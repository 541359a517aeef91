// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet
import Testing

@testable import FanoutDiscovery

extension DiscoveryTests {
    /// What every source of receivers promises, whatever it asks.
    @Suite("Every source of receivers")
    struct SourceContract {}
}

/// One kind of source, and how a test makes it find things.
enum SourceKind: String, CaseIterable, CustomTestStringConvertible {
    case kubernetes, file, dns

    var testDescription: String { rawValue }

    func stage() throws -> any SourceStage {
        switch self {
        case .kubernetes: try KubernetesStage()
        case .file: try FileStage()
        case .dns: try DNSStage()
        }
    }
}

/// What a source asks: it has receivers at port 9000, and can break.
protocol SourceStage: Sendable {
    func source() throws -> any DiscoverySource
    /// From now on these are the receivers.
    func have(_ addresses: [String]) throws
    /// From now on it gives no answer, or none of use.
    func breakDown() async throws
    func mend() async throws
}

extension DiscoveryTests.SourceContract {
    @Test("what is there is published, and what becomes of it", arguments: SourceKind.allCases)
    func follows(kind: SourceKind) async throws {
        let stage = try kind.stage()
        try stage.have(["10.0.0.1", "10.0.0.2"])
        let follower = Follower(try stage.source())
        try await follower.shows("10.0.0.1", "10.0.0.2")
        #expect(
            follower.sets.last?.endpoints.allSatisfy { $0.ports.map(\.number) == [9000] } == true)
        try stage.have(["10.0.0.3", "10.0.0.2"])
        try await follower.shows("10.0.0.2", "10.0.0.3")
    }

    @Test("an empty answer empties the set", arguments: SourceKind.allCases)
    func empties(kind: SourceKind) async throws {
        let stage = try kind.stage()
        try stage.have(["10.0.0.1"])
        let follower = Follower(try stage.source())
        try await follower.shows("10.0.0.1")
        try stage.have([])
        try await follower.shows()
        try stage.have(["10.0.0.1"])
        try await follower.shows("10.0.0.1")
    }

    @Test(
        "trouble never does: it is counted, and the last set stays", arguments: SourceKind.allCases)
    func keeps(kind: SourceKind) async throws {
        let stage = try kind.stage()
        try stage.have(["10.0.0.1"])
        let follower = Follower(try stage.source())
        try await follower.shows("10.0.0.1")
        try await stage.breakDown()
        try await eventually("errors are counted") { !follower.source.status.errors.isEmpty }
        let age = follower.source.status.syncAge
        try await eventually("the age grows") { follower.source.status.syncAge > age }
        #expect(follower.sets.allSatisfy { $0 == follower.sets[0] })
        try await stage.mend()
        try stage.have(["10.0.0.2"])
        try await follower.shows("10.0.0.2")
        #expect(!follower.sets.contains { $0.endpoints.isEmpty })
    }

    @Test("trouble at the beginning publishes nothing", arguments: SourceKind.allCases)
    func late(kind: SourceKind) async throws {
        let stage = try kind.stage()
        try await stage.breakDown()
        let follower = Follower(try stage.source())
        try await eventually("errors are counted") { !follower.source.status.errors.isEmpty }
        #expect(follower.sets.isEmpty)
        try await stage.mend()
        try stage.have(["10.0.0.1"])
        try await follower.shows("10.0.0.1")
    }

    @Test("it ends when it is told to, and publishes nothing more", arguments: SourceKind.allCases)
    func ends(kind: SourceKind) async throws {
        let stage = try kind.stage()
        try stage.have(["10.0.0.1"])
        let follower = Follower(try stage.source())
        try await follower.shows("10.0.0.1")
        let begin = ContinuousClock.now
        await follower.stop()
        #expect(ContinuousClock.now - begin < .seconds(10))
        let count = follower.sets.count
        try stage.have(["10.0.0.2"])
        // Another one hears of it, so the first one could have.
        let other = Follower(try stage.source())
        try await other.shows("10.0.0.2")
        #expect(follower.sets.count == count)
    }

    @Test("receivers that are written out are found at once, each once, and stay")
    func fixed() async throws {
        let endpoints = try ["10.0.0.2:9000", "10.0.0.1:9000", "10.0.0.2:9000"].map {
            try Endpoint(parsing: $0)
        }
        let follower = Follower(StaticSource(endpoints))
        try await follower.shows("10.0.0.1", "10.0.0.2")
        #expect(follower.source.status.syncAge == .zero)
        await follower.stop()
        #expect(follower.sets.count == 1)
    }
}
