// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet
import Testing

@testable import FanoutDiscovery

extension DiscoveryTests {
    @Suite("An API server in trouble")
    struct OutageTests {}
}

extension DiscoveryTests.OutageTests {
    private func slice(_ number: Int) -> Slice {
        Slice("s-\(number)", [Slice.Endpoint("10.0.0.\(number)")])
    }

    @Test("gone and back: the last set stays in use, the age grows, one line tells")
    func outage() async throws {
        let stage = try ClusterStage()
        try stage.cluster.put(slice(1))
        let follower = try stage.follow()
        try await follower.shows("10.0.0.1")
        try await eventually("a watch is open") { stage.cluster.openWatches == 1 }
        await stage.cluster.stop()
        try await follower.counts(error: "connection", times: 5)
        #expect(follower.sets.count == 1)
        #expect(follower.source.status.syncAge > .milliseconds(50))
        let message = "k8s discovery: the API server does not answer"
        try await eventually("the log says so") { stage.log.count(message) == 1 }
        #expect(stage.log.lines.first { $0.message == message }?.level == .warning)
        try stage.cluster.put(slice(2))
        try stage.cluster.start()
        try await follower.shows("10.0.0.1", "10.0.0.2")
        try await eventually("the log says that it is over") {
            stage.log.count("k8s discovery: the API server answers again") == 1
        }
        #expect(follower.source.status.syncAge < .seconds(2))
        #expect(stage.log.count(message) == 1)
        #expect(stage.cluster.listRequests.count == 1, "what was missed comes by the watch")
    }

    @Test("not there from the beginning: nothing is published until it is")
    func late() async throws {
        let stage = try ClusterStage()
        try stage.cluster.put(slice(1))
        await stage.cluster.stop()
        let follower = try stage.follow()
        try await follower.counts(error: "connection", times: 2)
        #expect(follower.sets.isEmpty)
        try stage.cluster.start()
        try await follower.shows("10.0.0.1")
    }

    @Test("a list that hangs, as without etcd, is given up after its time and tried again")
    func hangs() async throws {
        let stage = try ClusterStage()
        try stage.cluster.put(slice(1))
        stage.cluster.fail(.list, .silence)
        let follower = try stage.follow()
        try await follower.shows("10.0.0.1")
        #expect(follower.error("timeout") == 1)
    }

    @Test("401, 403 and other answers are counted apart and told in their own words")
    func answers() async throws {
        let stage = try ClusterStage()
        try stage.cluster.put(slice(1))
        for code in [401, 403, 404, 500] { stage.cluster.fail(.list, .status(code)) }
        let follower = try stage.follow()
        try await follower.shows("10.0.0.1")
        #expect(follower.source.status.errors == ["401": 1, "403": 1, "404": 1, "500": 1])
        for message in [
            "k8s discovery: 401, the API server does not accept the token or certificate",
            "k8s discovery: 403, the account may not list and watch",
        ] {
            #expect(
                stage.log.lines.first { $0.message == message }?.level == .warning, "\(message)")
        }
    }

    @Test("a watch that is refused is not let go: it goes on from its version")
    func refusedWatch() async throws {
        let stage = try ClusterStage()
        try stage.cluster.put(slice(1))
        stage.cluster.fail(.watch, .status(500), times: 3)
        stage.cluster.fail(.watch, .cut, times: 2)
        let follower = try stage.follow()
        try await follower.shows("10.0.0.1")
        try stage.cluster.put(slice(2))
        try await follower.shows("10.0.0.1", "10.0.0.2")
        #expect(stage.cluster.listRequests.count == 1)
        #expect(stage.cluster.watchRequests.count >= 6)
    }

    @Test("it waits as long as the server asks for")
    func retryAfter() async throws {
        let stage = try ClusterStage()
        try stage.cluster.put(slice(1))
        stage.cluster.fail(.list, .status(429, headers: ["Retry-After": "1"]))
        let begin = ContinuousClock.now
        let follower = try stage.follow()
        try await follower.shows("10.0.0.1")
        #expect(ContinuousClock.now - begin >= .seconds(1))
        #expect(follower.error("429") == 1)
    }

    @Test("attempts come ever more slowly, and watches that end at once are no exception")
    func backoff() async throws {
        var backoff = Backoff(base: .milliseconds(100), longest: .seconds(2))
        for limit in [100, 200, 400, 800, 1600, 2000, 2000] {
            let wait = backoff.next()
            #expect(wait >= .milliseconds(limit / 2) && wait <= .milliseconds(limit))
        }
        backoff.reset()
        #expect(backoff.next() <= .milliseconds(100))

        let stage = try ClusterStage()
        stage.cluster.fail(.watch, .body(""), times: .max)
        let follower = try stage.follow()
        try await eventually("a few watches") { stage.cluster.watchRequests.count >= 8 }
        let times = stage.cluster.watchRequests.map(\.at)
        #expect(times[7] - times[0] > .milliseconds(300))
        await follower.stop()
    }

    @Test("the end comes at once, even when no host answers")
    func ends() async throws {
        let stage = try ClusterStage()
        stage.cluster.fail(.list, .silence)
        let timing = WatchTiming()
        let follower = try stage.follow(try stage.sources(timing: timing))
        try await eventually("it asks") { stage.cluster.requests.count == 1 }
        let begin = ContinuousClock.now
        await follower.stop()
        #expect(ContinuousClock.now - begin < .seconds(10))
    }
}
