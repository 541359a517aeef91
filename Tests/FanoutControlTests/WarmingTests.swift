// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import Logging
import Synchronization
import Testing
import Tiers

/// The reconciler's side of a slow start, by a clock that the test moves.
@Suite("Shares that rise", .tags(.network))
struct WarmingTests {
    private final class TestClock: Sendable {
        private let time = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { time.withLock { $0 } }
        func advance(by duration: Duration) { time.withLock { $0 += duration } }
    }

    private let plane = FakePlane<First>()
    private let clock = TestClock()
    private let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func state(receivers: Int) -> DesiredState {
        DesiredState(listeners: [
            Listener(
                name: "in", bind: Endpoint(IPAddress(v4: 0x7f00_0001), port: 514),
                downstreams: (0..<receivers).map { number in
                    Downstream(
                        name: "r\(number)",
                        endpoint: Endpoint(IPAddress(v4: 0x0a00_0000 + UInt32(number)), port: 9))
                }, settings: ListenerSettings(slowStartSeconds: 1000))
        ])
    }

    private var tenths: [Int] {
        get async { await plane.listeners["in"]?.downstreams.map(\.warmth) ?? [] }
    }

    @Test("reach the planes step by step, and a step that a plane does not follow is tried again")
    func steps() async throws {
        let clock = clock
        let reconciler = Reconciler(planes: [plane], logger: silent) { clock.now }
        let warming = Task { await reconciler.run() }
        defer { warming.cancel() }
        try await reconciler.apply(state(receivers: 1))
        try await reconciler.apply(state(receivers: 2))
        #expect(await tenths == [10, 1])
        clock.advance(by: .seconds(100))
        try await until { await tenths == [10, 2] }
        await plane.failNext(
            PlaneError(operation: "flip", subject: "x", reason: "ENOMEM", remedy: "-"))
        clock.advance(by: .seconds(350))
        try await until { await tenths == [10, 5] }
        let changes = await plane.changes.count
        try await reconciler.apply(state(receivers: 2))
        #expect(await plane.changes.count == changes, "between two steps nothing changes")
        clock.advance(by: .seconds(1000))
        try await until { await tenths == [10, 10] }
        // A change after the end starts anew.
        try await reconciler.apply(state(receivers: 3))
        #expect(await tenths == [10, 10, 1])
        clock.advance(by: .seconds(900))
        try await until { await tenths == [10, 10, 10] }
    }

    @Test("begin when the planes follow, not when they could not")
    func failure() async throws {
        let clock = clock
        let reconciler = Reconciler(planes: [plane], logger: silent) { clock.now }
        try await reconciler.apply(state(receivers: 1))
        let trouble = PlaneError(operation: "flip", subject: "x", reason: "ENOMEM", remedy: "-")
        await plane.failNext(trouble)
        await #expect(throws: trouble) { try await reconciler.apply(state(receivers: 2)) }
        clock.advance(by: .seconds(5000))
        try await reconciler.apply(state(receivers: 2))
        #expect(await tenths == [10, 1])
    }
}
