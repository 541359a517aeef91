// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import Logging
import Testing
import Tiers

/// A change of receivers alone goes to all planes at once.
@Suite("A change of receivers", .tags(.network))
struct TogetherTests {
    private let first = FakePlane<First>()
    private let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func state(weight: UInt16) -> DesiredState {
        let modes: [ForwardingMode] = [.userspace, .tcEBPF]
        return DesiredState(
            listeners: modes.map { mode in
                Listener(
                    name: mode.rawValue,
                    bind: Endpoint(IPAddress(v4: 0x7f00_0001), port: 514), mode: mode,
                    downstreams: [
                        Downstream(
                            name: "d", endpoint: Endpoint(IPAddress(v4: 0x7f00_0002), port: 1000),
                            weight: weight)
                    ])
            })
    }

    private func weight(_ plane: FakePlane<Second>) async -> UInt16? {
        await plane.listeners["tc_ebpf"]?.downstreams.first?.weight
    }

    @Test("reaches a plane though another one still waits")
    func together() async throws {
        let second = FakePlane<Second>()
        let reconciler = Reconciler(planes: [first, second], logger: silent)
        try await reconciler.apply(state(weight: 1))
        await first.hold()
        let next = state(weight: 2)
        let change = Task { try await reconciler.apply(next) }
        try await until { await first.isHolding }
        try await until { await weight(second) == 2 }
        await first.release()
        #expect(try await change.value.retargeted.count == 2)
    }

    @Test("is told to each plane ahead, as far as it concerns it")
    func anticipated() async throws {
        let second = FakePlane<Second>()
        let reconciler = Reconciler(planes: [first, second], logger: silent)
        try await reconciler.apply(state(weight: 1))
        #expect(await first.anticipated.isEmpty, "new listeners are not")
        try await reconciler.apply(state(weight: 2))
        #expect(await first.anticipated == [try #require(await first.changes.last)])
        #expect(await second.anticipated == [try #require(await second.changes.last)])
        #expect(await second.anticipated[0].retargeted.map(\.to.name) == ["tc_ebpf"])
    }

    @Test("that one plane cannot follow is undone in the others, whichever it is")
    func undone() async throws {
        let trouble = PlaneError(operation: "flip", subject: "x", reason: "ENOMEM", remedy: "-")
        let second = FakePlane<Second>()
        let reconciler = Reconciler(planes: [first, second], logger: silent)
        try await reconciler.apply(state(weight: 1))
        await first.failNext(trouble)
        await #expect(throws: trouble) { try await reconciler.apply(state(weight: 2)) }
        #expect(await weight(second) == 1)
        await second.failNext(trouble)
        await #expect(throws: trouble) { try await reconciler.apply(state(weight: 2)) }
        #expect(await first.listeners["userspace"]?.downstreams.first?.weight == 1)
        try await reconciler.apply(state(weight: 2))
        #expect(await weight(second) == 2)
    }
}
