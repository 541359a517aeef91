// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet
import Testing
import Tiers

@testable import FanoutDiscovery

/// One after the other: the machine is small, and some of them measure time.
@Suite("Discovery", .tags(.network), .serialized)
enum DiscoveryTests {}

extension DiscoveryTests {
    @Suite("A watch of EndpointSlices")
    struct WatchTests {}
}

extension DiscoveryTests.WatchTests {
    private typealias Endpoint = Slice.Endpoint

    private func slice(_ number: Int) -> Slice {
        Slice("s-\(number)", [Endpoint("10.0.0.\(number)")])
    }

    @Test("begins with a list in pages, and goes on from the list's version")
    func pages() async throws {
        let stage = try ClusterStage()
        for number in 1...5 { try stage.cluster.put(slice(number)) }
        try stage.cluster.put(Slice("other", of: "another", [Endpoint("10.9.9.9")]))
        let follower = try stage.follow()
        try await follower.shows("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5")
        try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
        #expect(stage.cluster.listRequests.map { $0.query["limit"] } == ["2", "2", "2"])
        #expect(stage.cluster.listRequests.map { $0.query["continue"] } == [nil, "2", "4"])
        let watch = try #require(stage.cluster.watchRequests.first)
        #expect(watch.query["resourceVersion"] == "106")
        #expect(watch.query["allowWatchBookmarks"] == "true")
        #expect(watch.query["labelSelector"] == "kubernetes.io/service-name=s")
        #expect(follower.sets.count == 1, "a half-read list is not published")
        let line = stage.log.lines.first { $0.message == "starting EndpointSlice watch" }
        #expect(line?.fields["namespace"] == "default" && line?.fields["service"] == "s")
    }

    @Test(
        "follows what is added, modified and deleted; a label that is taken away shows as deleted")
    func events() async throws {
        let stage = try ClusterStage()
        let follower = try stage.follow()
        try await eventually("an empty list is published") { follower.addresses == [] }
        try stage.cluster.put(slice(1))
        try await follower.shows("10.0.0.1")
        try stage.cluster.put(Slice("s-1", [Endpoint("10.0.0.1"), Endpoint("10.0.0.7")]))
        try await follower.shows("10.0.0.1", "10.0.0.7")
        try stage.cluster.put(slice(2))
        stage.cluster.remove("s-1")
        try await follower.shows("10.0.0.2")
        #expect(follower.relists(.start) == 1)
        #expect(stage.cluster.listRequests.count == 1)
    }

    @Test("publishes slices that change one after another together")
    func together() async throws {
        let stage = try ClusterStage()
        for number in 1...10 { try stage.cluster.put(slice(number)) }
        let follower = try stage.follow()
        try await eventually("all are there") { follower.addresses?.count == 10 }
        try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
        let before = follower.sets.count
        for number in 1...10 {
            try stage.cluster.put(Slice("s-\(number)", [Endpoint("10.0.1.\(number)")]))
            try await Task.sleep(for: .milliseconds(1))
        }
        try await eventually("all are others") {
            follower.addresses?.allSatisfy { $0.hasPrefix("10.0.1.") } == true
        }
        #expect(follower.sets.count - before <= 5)
    }

    @Test("a bookmark is no emptied slice, and the next watch begins there")
    func bookmark() async throws {
        let stage = try ClusterStage()
        try stage.cluster.put(slice(1))
        let follower = try stage.follow()
        try await follower.shows("10.0.0.1")
        try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
        stage.cluster.bookmark()
        let version = "\(stage.cluster.version)"
        stage.cluster.endWatches()
        try await eventually("it watches again") { stage.cluster.watchRequests.count == 2 }
        #expect(stage.cluster.watchRequests[1].query["resourceVersion"] == version)
        #expect(follower.sets.count == 1)
    }

    @Test("the end of a watch is no fault: it goes on from the last version, without a list")
    func cleanEnd() async throws {
        let stage = try ClusterStage()
        try stage.cluster.put(slice(1))
        let follower = try stage.follow()
        try await follower.shows("10.0.0.1")
        for round in 2...4 {
            try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
            stage.cluster.endWatches()
            try stage.cluster.put(slice(round))
            try await eventually("what came meanwhile is seen") {
                follower.addresses?.count == round
            }
        }
        #expect(stage.cluster.listRequests.count == 1)
        #expect(follower.source.status.errors.isEmpty)
    }

    @Test(
        "a version that has expired is answered with 200 and an ERROR line: it lists again at once")
    func expired() async throws {
        let stage = try ClusterStage()
        try stage.cluster.put(slice(1))
        let follower = try stage.follow()
        try await follower.shows("10.0.0.1")
        try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
        stage.cluster.compact()
        stage.cluster.endWatches()
        try stage.cluster.put(slice(2))
        stage.cluster.compact()
        try await follower.shows("10.0.0.1", "10.0.0.2")
        try await follower.counts(relist: .expired)
        #expect(follower.error("410") == 1)
        #expect(!follower.sets.contains { $0.endpoints.isEmpty }, "the set before stays in use")
    }

    @Test("a list that outlives its version is read once more in one piece")
    func expiredPage() async throws {
        let stage = try ClusterStage()
        for number in 1...3 { try stage.cluster.put(slice(number)) }
        stage.cluster.fail(.nextPage, .status(410, reason: "Expired"))
        let follower = try stage.follow()
        try await follower.shows("10.0.0.1", "10.0.0.2", "10.0.0.3")
        #expect(stage.cluster.listRequests.map { $0.query["limit"] } == ["2", "2", nil])
        #expect(follower.source.status.errors.isEmpty)
    }

    @Test("a version from the future, as after a restored backup, is dropped")
    func future() async throws {
        let stage = try ClusterStage()
        try stage.cluster.put(slice(1))
        let follower = try stage.follow()
        try await follower.shows("10.0.0.1")
        try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
        await stage.cluster.stop()
        stage.cluster.jump(to: 5)
        try stage.cluster.put(slice(2))
        try stage.cluster.start()
        try await follower.shows("10.0.0.1", "10.0.0.2")
        #expect(follower.relists(.future) == 1)
        #expect(follower.error("504") == 1)
    }

    static let brokenLines = [
        "an ERROR of another kind":
            "{\"type\":\"ERROR\",\"object\":{\"code\":500,\"message\":\"no\"}}\n",
        "no JSON": "hello\n",
        "an event of no known type": "{\"type\":\"GONE\",\"object\":{}}\n",
    ]

    @Test("a line that cannot be used leads to a new list", arguments: brokenLines.keys.sorted())
    func broken(name: String) async throws {
        let stage = try ClusterStage()
        try stage.cluster.put(slice(1))
        let follower = try stage.follow()
        try await follower.shows("10.0.0.1")
        try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
        stage.cluster.say(try #require(Self.brokenLines[name]))
        try await follower.counts(relist: .broken)
        try stage.cluster.put(slice(2))
        try await follower.shows("10.0.0.1", "10.0.0.2")
        #expect(follower.error("malformed") == 1)
        #expect(!follower.sets.contains { $0.endpoints.isEmpty })
    }

    @Test("an event in pieces is put together, and several in one piece are taken apart")
    func pieces() async throws {
        let stage = try ClusterStage()
        let follower = try stage.follow()
        try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
        let event = """
            {"type":"ADDED","object":{"metadata":{"name":"x-N","resourceVersion":"200"},\
            "addressType":"IPv4","endpoints":[{"addresses":["10.1.0.N"]}],\
            "ports":[{"port":9000,"protocol":"UDP"}]}}

            """
        let first = event.replacing("N", with: "1")
        stage.cluster.say(String(first.prefix(70)))
        stage.cluster.say(String(first.dropFirst(70)) + "\n" + event.replacing("N", with: "2"))
        try await follower.shows("10.1.0.1", "10.1.0.2")
    }

    @Test("a watch that breaks within a line goes on from the version before")
    func cut() async throws {
        let stage = try ClusterStage()
        let follower = try stage.follow()
        try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
        stage.cluster.say("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"x")
        await stage.cluster.stop()
        try stage.cluster.put(slice(3))
        try stage.cluster.start()
        try await follower.shows("10.0.0.3")
        #expect(stage.cluster.listRequests.count == 1)
        #expect(follower.relists(.broken) == 0)
    }
}
