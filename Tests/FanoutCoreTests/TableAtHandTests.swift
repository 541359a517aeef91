// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("A listener with its slot table at hand", .tags(.unit))
struct TableAtHandTests {
    private let listener = Listener(
        name: "in", bind: Endpoint(IPAddress(v4: 1), port: 514), balance: .sourceIP,
        downstreams: DownstreamSet.weighted([1, 2, 3]))

    private func having(_ table: SlotTable) -> Listener {
        DesiredState(listeners: [listener]).having([listener.tableOrigin: table]).listeners[0]
    }

    @Test("gives that one, until its receivers, its balance or its size are others")
    func altered() {
        let other = SlotTable(slots: [2, 1, 0])
        let bearing = having(other)
        #expect(bearing.slotTable == other)
        var altered = [bearing, bearing, bearing, bearing]
        altered[0].downstreams[1].isEnabled = false
        altered[1].downstreams.removeLast()
        altered[2].balance = .roundRobin
        altered[3].settings.maxDownstream = 1024
        for listener in altered {
            #expect(
                listener.slotTable
                    == listener.balance.slotTable(
                        for: listener.downstreams, capacity: listener.settings.maxDownstream))
            #expect(DesiredState(listeners: [listener]).tablesAtHand.isEmpty)
        }
    }

    @Test("is equal to the same one without")
    func equal() {
        let bearing = having(listener.tableOrigin.table)
        #expect(bearing == listener)
        #expect(bearing.hashValue == listener.hashValue)
        #expect(DesiredState(listeners: [bearing]).tablesAtHand.count == 1)
    }
}
