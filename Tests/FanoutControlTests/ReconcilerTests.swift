// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import LabNet
import Logging
import Testing
import Tiers

@Suite("The reconciler", .tags(.network))
struct ReconcilerTests {
    private let first = FakePlane<First>()
    private let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private static let trouble = PlaneError(
        operation: "bind", subject: "listener x", reason: "EADDRINUSE", remedy: "choose another")

    private func listener(
        _ name: String, _ mode: ForwardingMode = .userspace, port: UInt16 = 514,
        weights: [UInt16] = [1]
    ) -> Listener {
        Listener(
            name: name, bind: Endpoint(IPAddress(v4: 0x7f00_0001), port: port), mode: mode,
            downstreams: weights.enumerated().map { index, weight in
                Downstream(
                    name: "d\(index)",
                    endpoint: Endpoint(IPAddress(v4: 0x7f00_0002), port: 1000 + UInt16(index)),
                    weight: weight)
            })
    }

    @Test("gives each plane the listeners of its mode, as a difference to its state")
    func split() async throws {
        let second = FakePlane<Second>()
        let reconciler = Reconciler(planes: [first, second], logger: silent)
        let (a, b) = (listener("a"), listener("b", .tcEBPF))
        let total = try await reconciler.apply(DesiredState(listeners: [a, b]))
        #expect(total.added == [a, b])
        #expect(await first.listeners == ["a": a])
        #expect(await second.listeners == ["b": b])

        let heavier = listener("b", .tcEBPF, weights: [2])
        let change = try await reconciler.apply(DesiredState(listeners: [a, heavier]))
        #expect(change.retargeted == [Change.Pair(from: b, to: heavier)])
        #expect(await first.changes.count == 1, "nothing changed for this one")
        #expect(await second.changes.count == 2)
    }

    @Test("does not touch the planes when nothing changes")
    func empty() async throws {
        let reconciler = Reconciler(planes: [first], logger: silent)
        let state = DesiredState(listeners: [listener("a")])
        try await reconciler.apply(state)
        let change = try await reconciler.apply(state)
        #expect(change.isEmpty)
        #expect(change.unchanged == state.listeners)
        #expect(await first.changes.count == 1)
    }

    @Test("moves a listener from one plane to another when its mode changes")
    func modeChanges() async throws {
        let second = FakePlane<Second>()
        let reconciler = Reconciler(planes: [first, second], logger: silent)
        try await reconciler.apply(DesiredState(listeners: [listener("a")]))
        try await reconciler.apply(DesiredState(listeners: [listener("a", .tcEBPF)]))
        #expect(await first.listeners.isEmpty)
        #expect(await second.listeners.keys.sorted() == ["a"])
    }

    @Test("changes the mode make-before-break")
    func makeBeforeBreak() async throws {
        let second = FakePlane<Second>()
        let reconciler = Reconciler(planes: [first, second], logger: silent)
        try await reconciler.apply(DesiredState(listeners: [listener("a")]))
        await second.hold()
        let next = DesiredState(listeners: [listener("a", .tcEBPF)])
        let change = Task { try await reconciler.apply(next) }
        while await !second.isHolding { await Task.yield() }
        #expect(await first.changes.count == 1, "it is still there")
        await second.release()
        #expect(try await change.value.replaced.count == 1)
        #expect(await first.listeners.isEmpty)

        // And back, the planes in the same order.
        await first.hold()
        let back = Task { try await reconciler.apply(DesiredState(listeners: [listener("a")])) }
        while await !first.isHolding { await Task.yield() }
        #expect(await second.listeners.keys.sorted() == ["a"])
        await first.release()
        _ = try await back.value
        #expect(await second.listeners.isEmpty)
    }

    @Test("rolls all planes back when one cannot release what another needs")
    func keepsHold() async throws {
        let second = FakePlane<Second>(failures: [nil, Self.trouble])
        let reconciler = Reconciler(planes: [first, second], logger: silent)
        let before = DesiredState(listeners: [listener("a", .tcEBPF)])
        try await reconciler.apply(before)
        let after = DesiredState(listeners: [listener("a")])
        await #expect(throws: Self.trouble) { try await reconciler.apply(after) }
        #expect(await first.listeners.isEmpty)
        #expect(await second.listeners.keys.sorted() == ["a"])
        try await reconciler.apply(after)
        #expect(await first.listeners.keys.sorted() == ["a"])
        #expect(await second.listeners.isEmpty)
    }

    @Test("moves in one step what cannot coexist with its replacement")
    func oneStep() async throws {
        let second = FakePlane<Second>()
        let log = LogRecorder()
        let reconciler = Reconciler(planes: [second, first], logger: log.logger)
        try await reconciler.apply(DesiredState(listeners: [listener("a", .tcEBPF)]))
        await second.object(Self.trouble, room: 1)
        let after = DesiredState(listeners: [listener("a"), listener("b", .tcEBPF, port: 515)])
        try await reconciler.apply(after)
        #expect(await first.listeners.keys.sorted() == ["a"])
        #expect(await second.listeners.keys.sorted() == ["b"])
        #expect(await second.changes.count == 2)
        #expect(log.lines(Self.gap).map(\.fields) == [["listeners": "a"]])
    }

    private static let gap =
        "listeners stop before their replacements in other modes start; there may be a gap"

    @Test("says where listeners exchange their ports, and nothing where one succeeds another")
    func exchange() async throws {
        let (second, log) = (FakePlane<Second>(), LogRecorder())
        let reconciler = Reconciler(planes: [second, first], logger: log.logger)
        let (a, b) = (listener("a"), listener("b", .tcEBPF, port: 515))
        try await reconciler.apply(DesiredState(listeners: [a, b]))
        let moved = [listener("a", port: 515), listener("c", .tcEBPF)]
        try await reconciler.apply(DesiredState(listeners: moved))
        #expect(log.count(Self.gap) == 0)
        try await reconciler.apply(
            DesiredState(listeners: [listener("a"), listener("c", .tcEBPF, port: 515)]))
        #expect(log.lines(Self.gap).map(\.fields) == [["listeners": "a,c"]])
    }

    @Test(
        "leaves a hook by one plane before another takes it, and the other way round on the way back"
    )
    func hookOrder() async throws {
        let (nat, afXDP) = (FakePlane<Third>(), FakePlane<Fourth>())
        let reconciler = Reconciler(planes: [afXDP, nat], logger: silent)
        func on(_ mode: ForwardingMode) -> DesiredState {
            var result = listener("a", mode)
            result.interface = "eth0"
            return DesiredState(listeners: [result])
        }
        try await reconciler.apply(on(.xdpNAT))
        await afXDP.hold()
        let moving = Task { try await reconciler.apply(on(.afXDP)) }
        while await !afXDP.isHolding { await Task.yield() }
        #expect(await nat.listeners.isEmpty)
        await afXDP.failNext(Self.trouble)
        await afXDP.release()
        await #expect(throws: Self.trouble) { try await moving.value }
        #expect(await nat.listeners.keys.sorted() == ["a"])
    }

    @Test("alters no plane when another sees beforehand that it cannot follow")
    func checks() async throws {
        let second = FakePlane<Second>()
        let reconciler = Reconciler(planes: [second, first], logger: silent)
        try await reconciler.apply(DesiredState(listeners: [listener("a", .tcEBPF)]))
        await first.object(Self.trouble, room: 0)
        let after = DesiredState(listeners: [listener("a", .tcEBPF, weights: [2]), listener("b")])
        await #expect(throws: Self.trouble) { try await reconciler.apply(after) }
        #expect(await second.changes.count == 1)
        #expect(await first.changes.isEmpty)
        await first.object(nil)
        try await reconciler.apply(after)
        #expect(await second.changes.count == 2)
    }

    @Test("rolls the first plane back when the second fails, and reports why")
    func rollsBack() async throws {
        let second = FakePlane<Second>(failures: [nil, Self.trouble])
        let reconciler = Reconciler(planes: [first, second], logger: silent)
        let before = DesiredState(listeners: [listener("a"), listener("b", .tcEBPF)])
        try await reconciler.apply(before)
        let after = DesiredState(listeners: [
            listener("a", port: 515), listener("c"), listener("b", .tcEBPF, weights: [3]),
        ])
        await #expect(throws: Self.trouble) { try await reconciler.apply(after) }
        #expect(await first.listeners == ["a": listener("a")])
        #expect(await second.listeners == ["b": listener("b", .tcEBPF)])
        #expect(await first.changes.count == 3)

        // The previous state is active: the same goal gives the same change, which now succeeds.
        let change = try await reconciler.apply(after)
        #expect(change.added.map(\.name) == ["c"])
        #expect(await first.listeners.keys.sorted() == ["a", "c"])
    }

    @Test("does not ask the planes after one that failed")
    func stopsAtTheFirstFailure() async throws {
        let failing = FakePlane<First>(failures: [Self.trouble])
        let second = FakePlane<Second>()
        let reconciler = Reconciler(planes: [failing, second], logger: silent)
        let state = DesiredState(listeners: [listener("a"), listener("b", .tcEBPF)])
        await #expect(throws: Self.trouble) { try await reconciler.apply(state) }
        #expect(await second.changes.isEmpty)
    }

    @Test("applies changes one by one, each to the result of the previous one")
    func serial() async throws {
        let reconciler = Reconciler(planes: [first], logger: silent)
        await first.hold()
        let a = Task { try await reconciler.apply(DesiredState(listeners: [listener("a")])) }
        while await !first.isHolding { await Task.yield() }
        let b = Task { try await reconciler.apply(DesiredState(listeners: [listener("b")])) }
        let end = Task { await reconciler.stop() }
        // Neither may start while the first runs. Yielding gives them every chance to.
        for _ in 0..<1000 { await Task.yield() }
        #expect(await first.changes.count == 1)
        #expect(await !first.isStopped)
        await first.release()
        let before = try await a.value
        #expect(before.added.map(\.name) == ["a"])
        let change = try await b.value
        _ = await end.value
        // Whichever came first, the second change is based on the result of the first.
        #expect(change.added.map(\.name) == ["b"])
        #expect(await first.changes.count == 2)
    }

    @Test("sorts the counters of all planes by listener, and stops every plane")
    func counters() async throws {
        let second = FakePlane<Second>()
        let reconciler = Reconciler(planes: [first, second], logger: silent)
        try await reconciler.apply(
            DesiredState(listeners: [
                listener("c"), listener("d", .tcEBPF), listener("a"), listener("b", .tcEBPF),
            ]))
        #expect(await reconciler.counters().map(\.listener) == ["a", "b", "c", "d"])
        #expect(await reconciler.stop().map(\.listener) == ["a", "b", "c", "d"])
        #expect(await first.isStopped)
        #expect(await second.isStopped)
        #expect(await reconciler.counters() == [])

        // The next change starts from nothing.
        let change = try await reconciler.apply(DesiredState(listeners: [listener("a")]))
        #expect(change.added.map(\.name) == ["a"])
    }
}
