// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import Logging
import Testing
import Tiers

/// Where listeners have the same receivers, one slot table is built for all of them.
@Suite("A slot table", .tags(.unit))
struct SharedTableTests {
    private let first = FakePlane<First>()
    private let second = FakePlane<Second>()
    private let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func state(weight: UInt16, settings: ListenerSettings = .init()) -> DesiredState {
        let modes: [ForwardingMode] = [.userspace, .tcEBPF]
        return DesiredState(
            listeners: modes.enumerated().map { number, mode in
                Listener(
                    name: mode.rawValue,
                    bind: Endpoint(IPAddress(v4: 0x7f00_0001), port: 514 + UInt16(number)),
                    mode: mode, balance: .sourceIP,
                    downstreams: (0..<3).map { host in
                        Downstream(
                            name: "d\(host)",
                            endpoint: Endpoint(IPAddress(v4: 0x0a00_0000 + host), port: 1000),
                            weight: host == 0 ? weight : 1)
                    }, settings: settings)
            })
    }

    private var carried: [Listener] {
        get async {
            [await first.listeners["userspace"], await second.listeners["tc_ebpf"]].compactMap {
                $0
            }
        }
    }

    /// In how many places of memory the slots of these listeners are.
    private func places(_ listeners: [Listener]) -> Int {
        // All at once: of two that live one after the other both may have the same place.
        let tables = listeners.map(\.slotTable.slots)
        return Set(tables.map { $0.withUnsafeBufferPointer(\.baseAddress) }).count
    }

    @Test("is one for all listeners with these receivers, whichever plane carries them")
    func shared() async throws {
        let reconciler = Reconciler(planes: [first, second], logger: silent)
        for weight in [1, 5] as [UInt16] {
            let state = state(weight: weight)
            try await reconciler.apply(state)
            let carried = await carried
            #expect(carried.count == 2)
            #expect(places(state.listeners) == 2, "without the reconciler each has its own")
            #expect(places(carried) == 1)
            #expect(carried[0].slotTable == state.listeners[0].tableOrigin.table)
        }
    }

    @Test("stays the same in memory when something else changes")
    func kept() async throws {
        let reconciler = Reconciler(planes: [first, second], logger: silent)
        try await reconciler.apply(state(weight: 1))
        let before = await carried
        try await reconciler.apply(state(weight: 1, settings: ListenerSettings(batchSize: 8)))
        let carried = await carried
        #expect(carried[0].settings.batchSize == 8)
        #expect(before.count == 2)
        #expect(places(before + carried) == 1)
    }
}
