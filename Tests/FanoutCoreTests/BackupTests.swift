// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("Backup receivers", .tags(.unit))
struct BackupTests {
    /// The receivers 1 and 2, and the backups 3 and 4.
    private static func state(
        enabled: [Bool] = [true, true, true, true], weights: [UInt16] = [1, 1, 1, 1]
    ) -> DesiredState {
        let downstreams = zip(enabled, weights).enumerated().map { index, one in
            Downstream(
                name: "r\(index + 1)", endpoint: endpoint(index), weight: one.1,
                isEnabled: one.0, isBackup: index >= 2)
        }
        return DesiredState(listeners: [
            Listener(
                name: "in", bind: Endpoint(IPAddress(v4: 0x7f00_0001), port: 514),
                balance: .sourceIP, downstreams: downstreams)
        ])
    }

    private static func endpoint(_ index: Int) -> Endpoint {
        Endpoint(IPAddress(v4: 0x0a00_0001 + UInt32(index)), port: 9000)
    }

    @Test(
        "are ready while no other receiver is",
        arguments: [
            ([true, true, true, true], [1, 1, 1, 1], [true, true, false, false]),
            ([true, false, true, true], [1, 1, 1, 1], [true, false, false, false]),
            ([false, false, true, true], [1, 1, 1, 1], [false, false, true, true]),
            ([false, true, true, false], [1, 0, 1, 1], [false, false, true, false]),
            ([false, false, false, false], [1, 1, 1, 1], [false, false, false, false]),
        ] as [([Bool], [UInt16], [Bool])])
    func ready(enabled: [Bool], weights: [UInt16], ready: [Bool]) {
        let listener = Self.state(enabled: enabled, weights: weights).withStandbys().listeners[0]
        #expect(listener.downstreams.map(\.isReady) == ready)
        let owners = Set(listener.slotTable.slots.map { Int($0) })
        #expect(owners == Set(ready.indices.filter { ready[$0] }))
    }

    @Test("stay backups when an operator drains them")
    func drained() {
        let drains = DrainList([DrainList.Entry(listener: "in", downstream: "r3")])
        let state = Self.state(enabled: [false, false, true, true]).applying(drains).withStandbys()
        #expect(state.listeners[0].downstreams.map(\.isBackup) == [false, false, true, true])
        #expect(state.listeners[0].downstreams.map(\.isReady) == [false, false, false, true])
    }

    @Test("do not count for min_healthy_percent, and replace receivers of which none is healthy")
    func threshold() {
        func opens(_ unhealthy: [Int]) -> Bool {
            HealthView(unhealthy: Set(unhealthy.map(Self.endpoint)), minHealthyPercent: 60)
                .opens(Self.state().listeners[0])
        }
        #expect(!opens([]))
        #expect(opens([0]), "one of two is below 60 percent")
        #expect(!opens([0, 1]), "the backups are healthy")
        #expect(!opens([0, 1, 2]))
        #expect(opens([0, 1, 2, 3]))
        #expect(!opens([2, 3]))
    }
}
