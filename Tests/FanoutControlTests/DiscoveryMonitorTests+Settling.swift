// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import LabNet
import Synchronization
import Testing

extension DiscoveryMonitorTests {
    @Test("a reload waits for new sources, with a time limit")
    func settles() async throws {
        try await following(state(["a": "s"])) { monitor, _ in
            let next = state(["a": "t"])
            await monitor.follow([state(["a": "s"]), next])
            let begin = ContinuousClock.now
            await monitor.settle(next, within: .milliseconds(30))
            #expect(ContinuousClock.now - begin >= .milliseconds(30))
            try await made.all[1].find([1])
            await monitor.settle(next, within: .seconds(60))
            #expect(await monitor.view().sets[subject("t")]?.endpoints.count == 1)
        }
    }

    private static let stay = "k8s discovery: no answer yet, the last-known receivers stay active"
    private static let noReceiver =
        "k8s discovery: no answer yet, and no receiver is known until there is one"

    private func endpoints(_ listener: String) async -> [String]? {
        await plane.listeners[listener]?.downstreams.map(\.endpoint.description)
    }

    @Test("last-known receivers are used for their listener alone, until its source answers")
    func lastKnowns() async throws {
        let before = state(["a": "s", "b": "t"])
        try await following(before) { monitor, reconciler in
            try await made.all[0].find(1...2)
            try await made.all[1].find([3])
            try await until {
                let (a, b) = (await count("a"), await count("b"))
                return a == 2 && b == 1
            }
            let next = state(["a": "u", "b": "u", "c": "u"])
            await monitor.follow([before, next])
            let told = await monitor.settle(next, after: before, within: .milliseconds(20))
            try await reconciler.apply(next)
            await monitor.follow([next])
            #expect(await endpoints("a") == ["10.0.0.1:9000", "10.0.0.2:9000"])
            #expect(await endpoints("b") == ["10.0.0.3:9000"])
            #expect(await endpoints("c") == [])
            #expect(lines.lines(Self.stay).map { $0.fields["listeners"] } == ["a,b"])
            #expect(lines.lines(Self.noReceiver).map { $0.fields["listeners"] } == ["c"])
            #expect(told.count == 2)
            #expect(await monitor.view().lastKnowns.count == 2)
            try await made.all[2].find([9])
            for name in ["a", "b", "c"] {
                try await until { await endpoints(name) == ["10.0.0.9:9000"] }
            }
            #expect(await monitor.view().lastKnowns.isEmpty)
        }
    }

    @Test("last-known receivers survive further reloads, and end with their source")
    func lastKnownsGoOn() async throws {
        let before = state(["a": "s"])
        try await following(before) { monitor, reconciler in
            try await made.all[0].find(1...2)
            try await until { await count("a") == 2 }
            var previous = before
            for next in [state(["a": "t"]), state(["a": "t", "b": "t"]), state(["a": "u"])] {
                await monitor.follow([previous, next])
                _ = await monitor.settle(next, after: previous, within: .milliseconds(20))
                #expect(
                    previous.applying(await monitor.view()).listeners[0].downstreams.count == 2,
                    "meanwhile the previous state is unchanged")
                try await reconciler.apply(next)
                await monitor.follow([next])
                #expect(await count("a") == 2)
                #expect(await monitor.view().lastKnowns.count == 1)
                previous = next
            }
            await monitor.follow([state(["b": "u"])])
            #expect(await monitor.view().lastKnowns.isEmpty)
        }
    }

    @Test("last-known receivers are saved for the next start, which uses them")
    func lastKnownsKept() async throws {
        let memory = Memory()
        let (before, next) = (state(["a": "s"]), state(["a": "t"]))
        try await following(before) { monitor, reconciler in
            await monitor.remember(in: memory)
            try await made.all[0].find(1...2)
            try await until { memory.counts == [subject("s"): 2] }
            await monitor.follow([before, next])
            _ = await monitor.settle(next, after: before, within: .milliseconds(20))
            try await reconciler.apply(next)
            await monitor.follow([next])
            try await until { !memory.lastKnowns.isEmpty }
            await monitor.stop(keeps: false)
        }
        let monitor = DiscoveryMonitor(logger: lines.logger) { subject, _ in made.make(subject) }
        await monitor.remember(in: memory)
        await monitor.follow([next], after: memory.recall(next))
        await monitor.settleStart(next, within: .seconds(60))
        let view = await monitor.view()
        #expect(next.applying(view).listeners[0].downstreams.count == 2)
        #expect(next.unknownSubjects(in: view).isEmpty)
        #expect(lines.lines(Self.stay).map { $0.fields["listeners"] } == ["a", "a"])
        #expect(lines.count(Self.noReceiver) == 0)
        await monitor.stop(keeps: false)
    }

    @Test("new and lost host addresses take effect, even if no source finds anything")
    func hostAddresses() async throws {
        let own = Mutex<Set<IPAddress>?>([])
        let (monitor, reconciler) = following { own.withLock { $0 } }
        var wildcard = state(["a": "s"])
        wildcard.listeners[0].bind = Endpoint(IPAddress(v4: 0), port: 9000)
        let address = IPAddress(v4: 0x0a00_0001)
        await monitor.follow([wildcard])
        try await reconciler.apply(wildcard)
        let task = Task { await reconciler.run() }
        defer { task.cancel() }
        try await made.all[0].find(1...2)
        try await until { await count() == 2 }
        own.withLock { $0 = [address] }
        try await until { await monitor.view().ownAddresses == [address] }
        try await until { await count() == 1 }
        own.withLock { $0 = nil }
        // A reload follows both states; either may become active.
        await monitor.follow([wildcard, state(["a": "s"])])
        #expect(await monitor.view().ownAddresses == [address])
        await monitor.follow([state(["a": "s"])])
        #expect(await monitor.view().ownAddresses.isEmpty)
        await monitor.stop(keeps: false)
    }
}
