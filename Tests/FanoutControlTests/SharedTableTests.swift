// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import Logging
import Testing

/// Where listeners have the same receivers, one slot table is built for all of them.
@Suite("A slot table")
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

    /// Where the slots of each listener are in memory.
    private func places(_ listeners: [Listener]) -> Set<UnsafePointer<UInt16>?> {
        Set(listeners.map { $0.slotTable.slots.withUnsafeBufferPointer(\.baseAddress) })
    }

    @Test("is one for all listeners with these receivers, whichever plane carries them")
    func shared() async throws {
        let reconciler = Reconciler(planes: [first, second], logger: silent)
        for weight in [1, 5] as [UInt16] {
            let state = state(weight: weight)
            try await reconciler.apply(state)
            let carried = await carried
            #expect(carried.count == 2)
            #expect(places(carried).count == 1, "one table")
            #expect(carried[0].slotTable == state.listeners[0].tableOrigin.table)
        }
    }

    @Test("stays the same in memory when something else changes")
    func kept() async throws {
        let reconciler = Reconciler(planes: [first, second], logger: silent)
        try await reconciler.apply(state(weight: 1))
        let before = places(await carried)
        try await reconciler.apply(state(weight: 1, settings: ListenerSettings(batchSize: 8)))
        let carried = await carried
        #expect(carried[0].settings.batchSize == 8)
        #expect(places(carried) == before)
    }
}
