// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import LabNet
import Logging
import Synchronization
import Testing
import Tiers

/// A source that finds what the test says.
final class FakeSource: DiscoverySource {
    private let publish = Mutex<(@Sendable (DiscoveredSet) -> Void)?>(nil)
    private let began = AsyncStream<Void>.makeStream()

    var isRunning: Bool { publish.withLock { $0 != nil } }
    var status: SourceStatus { SourceStatus(errors: ["x": 1]) }

    func run(_ publish: @escaping @Sendable (DiscoveredSet) -> Void) async {
        self.publish.withLock { $0 = publish }
        try? await Task.sleep(for: .seconds(3600))
        self.publish.withLock { $0 = nil }
    }

    /// Finds receivers with these last bytes of an address.
    func find(_ numbers: some Sequence<Int>) async throws {
        try await until { isRunning }
        let set = DiscoveredSet(
            numbers.map {
                DiscoveredEndpoint(
                    address: IPAddress(v4: 0x0a00_0000 + UInt32($0)),
                    ports: [DiscoveredPort(number: 9000)])
            })
        publish.withLock { $0 }?(set)
    }
}

@Suite("The discovery monitor", .tags(.network))
struct DiscoveryMonitorTests {
    let plane = FakePlane<First>()
    let lines = LogRecorder()
    let made = Made()

    final class Made: Sendable {
        private let sources = Mutex<[(DiscoverySubject, FakeSource)]>([])

        func make(_ subject: DiscoverySubject) -> FakeSource {
            let source = FakeSource()
            sources.withLock { $0.append((subject, source)) }
            return source
        }

        var all: [FakeSource] { sources.withLock { $0.map(\.1) } }
    }

    func subject(_ service: String) -> DiscoverySubject {
        .endpointSlices(.init(namespace: "n", service: service))
    }

    func state(_ listeners: [String: String], atMost limit: Int = 64) -> DesiredState {
        DesiredState(
            listeners: listeners.sorted { $0.key < $1.key }.enumerated().map { index, pair in
                Listener(
                    name: pair.key,
                    bind: Endpoint(IPAddress(v4: 0x7f00_0001), port: 514 + UInt16(index)),
                    downstreams: [], settings: ListenerSettings(maxDownstream: limit),
                    discovery: ListenerDiscovery(
                        receivers: subject(pair.value), port: .number(9000)))
            })
    }

    func count(_ listener: String = "a") async -> Int? {
        await plane.listeners[listener]?.downstreams.count
    }

    /// A monitor and a reconciler that follows it once it runs.
    func following(
        hostAddresses: @escaping @Sendable () -> Set<IPAddress>? = { [] }
    ) -> (DiscoveryMonitor, Reconciler) {
        let (made, signal) = (made, ChangeSignal())
        let monitor = DiscoveryMonitor(
            logger: lines.logger, signal: signal, hostAddresses: hostAddresses,
            addressInterval: .milliseconds(5)
        ) { subject, _ in made.make(subject) }
        let reconciler = Reconciler(
            planes: [plane], discovery: monitor, signal: signal, logger: lines.logger)
        return (monitor, reconciler)
    }

    /// The same for as long as `body` runs.
    func following(
        _ state: DesiredState, _ body: (DiscoveryMonitor, Reconciler) async throws -> Void
    ) async throws {
        let (monitor, reconciler) = following()
        await monitor.follow([state])
        try await reconciler.apply(state)
        let task = Task { await reconciler.run() }
        defer { task.cancel() }
        try await body(monitor, reconciler)
        await monitor.stop(keeps: true)
    }

    @Test("a listener starts without receivers and follows its source")
    func follows() async throws {
        try await following(state(["a": "s"])) { _, _ in
            #expect(await count() == 0)
            try await made.all[0].find(1...3)
            try await until { await count() == 3 }
            try await made.all[0].find([])
            try await until { await count() == 0 }
        }
        #expect(made.all.allSatisfy { !$0.isRunning })
    }

    @Test(
        "listeners of one service share one source; a source runs as long as one needs it")
    func shares() async throws {
        try await following(state(["a": "s", "b": "s", "c": "t"])) { monitor, reconciler in
            #expect(made.all.count == 2)
            try await made.all[0].find(1...2)
            try await until { await count("b") == 2 }
            let next = state(["b": "s", "d": "u"])
            await monitor.follow([state(["a": "s", "c": "t"]), next])
            #expect(made.all.count == 3)
            #expect(made.all[1].isRunning)
            await monitor.follow([next])
            try await until { !made.all[1].isRunning }
            #expect(made.all[0].isRunning)
            try await reconciler.apply(next)
            #expect(await count("b") == 2, "what was found before is still known")
            #expect(
                await monitor.report.sources.map { $0.subject.description } == [
                    "endpointslices:n/s", "endpointslices:n/u",
                ])
        }
    }

    @Test("no ready endpoint: warned once, and logged when it is over")
    func noneReady() async throws {
        let warning = "k8s discovery: 0 ready endpoints"
        try await following(state(["a": "s"])) { _, _ in
            #expect(lines.count(warning) == 0, "nothing is known yet")
            try await made.all[0].find([])
            try await until { lines.count(warning) == 1 }
            let line = lines.lines.first { $0.message == warning }
            #expect(line?.level == .warning && line?.fields["listener"] == "a")
            try await made.all[0].find([1])
            try await until { lines.count("k8s discovery: endpoints are ready again") == 1 }
            try await made.all[0].find([2])
            try await until { await plane.changes.count == 3 }
            try await made.all[0].find([])
            try await until { lines.count(warning) == 2 }
        }
    }

    @Test("more than max_downstream: counted and warned once")
    func surplus() async throws {
        let warning = "more receivers were found than settings.max_downstream allows"
        try await following(state(["a": "s"], atMost: 4)) { monitor, _ in
            try await made.all[0].find(1...6)
            try await until { await count() == 4 }
            #expect(await monitor.report.unused["a"]?[.surplus] == 2)
            try await made.all[0].find(1...7)
            try await until { await monitor.report.unused["a"]?[.surplus] == 3 }
            #expect(lines.count(warning) == 1)
            try await made.all[0].find(1...2)
            try await until { lines.count("all receivers that were found are used") == 1 }
        }
    }

    @Test("receivers that loop or do not suit are counted and warned once")
    func unused() async throws {
        let loop = "receivers that discovery found form a forwarding loop, and are not used"
        let unsuitable = "receivers that were found do not suit the listener, and are not used"
        var state = state(["a": "s"])
        let own = try #require(IPAddress("10.0.0.2"))
        state.listeners[0].bind = Endpoint(own, port: 9000)
        state.listeners[0].preserveSource = true
        try await following(state) { monitor, _ in
            try await made.all[0].find(1...3)
            try await until { await count() == 2 && lines.count(loop) == 1 }
            #expect(
                await monitor.report.unused["a"] == [
                    .surplus: 0, .loop: 1, .shared: 0, .unsuitable: 0,
                ])
            #expect(lines.count(unsuitable) == 0)
            try await made.all[0].find(1...4)
            try await until { await count() == 3 }
            try await made.all[0].find([1])
            try await until { lines.count("all receivers that were found are used") == 1 }
            #expect(lines.count(loop) == 1)
        }
    }

    @Test("a failed plane is asked again, even if nothing more is found")
    func retries() async throws {
        try await following(state(["a": "s"])) { _, _ in
            await plane.failNext(
                PlaneError(operation: "flip", subject: "x", reason: "ENOMEM", remedy: "-"))
            try await made.all[0].find(1...3)
            try await until { await count() == 3 }
        }
    }

    @Test(
        "a change that was applied in another way is undone, even if the source is unchanged")
    func backAgain() async throws {
        try await following(state(["a": "s"])) { _, reconciler in
            try await made.all[0].find(1...3)
            try await until { await count() == 3 }
            await plane.failNext(
                PlaneError(operation: "flip", subject: "x", reason: "ENOMEM", remedy: "-"))
            try await made.all[0].find(1...4)
            try await until { await plane.failures.isEmpty }
            // As a reload does, before the change is tried again.
            try await reconciler.apply(state(["a": "s"]))
            #expect(await count() == 4)
            try await made.all[0].find(1...3)
            try await until { await count() == 3 }
        }
    }

    @Test("a hundred changes a second are merged into a few, and the last one counts")
    func coalesces() async throws {
        try await following(state(["a": "s"])) { _, _ in
            let before = await plane.changes.count
            for number in 1...100 {
                try await made.all[0].find([number])
                try await Task.sleep(for: .milliseconds(2))
            }
            try await until {
                let last = await plane.listeners["a"]?.downstreams.first?.endpoint.address
                return last == IPAddress(v4: 0x0a00_0064)
            }
            let changes = await plane.changes.count - before
            #expect(changes < 50 && changes > 1, "\(changes)")
        }
    }

    @Test("a thousand endpoints are active within 50 ms after they are found")
    func quick() async throws {
        try await following(state(["a": "s"], atMost: 1024)) { _, _ in
            try await made.all[0].find(1...10)
            try await until { await count() == 10 }
            var times: [Duration] = []
            for round in 1...5 {
                // No change follows within the time for which changes are gathered.
                try await Task.sleep(for: .milliseconds(60))
                let begin = ContinuousClock.now
                try await made.all[0].find(round...(round + 999))
                try await until { await count() == 1000 }
                times.append(.now - begin)
                try await made.all[0].find(1...10)
                try await until { await count() == 10 }
            }
            #expect(times.sorted()[0] < .milliseconds(50), "\(times)")
        }
    }
}
