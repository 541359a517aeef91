// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import FanoutCore
import Logging
import Testing
import Tiers

@Suite("The summary of a change", .tags(.unit))
struct SummaryTests {
    private func listener(
        _ name: String, port: UInt16 = 514, _ receivers: [UInt16: UInt16] = [1: 1]
    ) -> Listener {
        Listener(
            name: name, bind: Endpoint(IPAddress(v4: 0x7f00_0001), port: port),
            downstreams: receivers.sorted { $0.key < $1.key }.map { port, weight in
                Downstream(
                    name: "d\(port)", endpoint: Endpoint(IPAddress(v4: 1), port: port),
                    weight: weight)
            })
    }

    private func summary(from old: [Listener], to new: [Listener]) -> Logger.Metadata {
        Change.diff(from: DesiredState(listeners: old), to: DesiredState(listeners: new)).summary
    }

    @Test("names the listeners that came, went, changed their sockets or their receivers")
    func listeners() {
        let summary = summary(
            from: [
                listener("gone"), listener("moved", port: 1), listener("aimed", port: 2),
                listener("same", port: 3),
            ],
            to: [
                listener("new"), listener("newer", port: 9), listener("moved", port: 4),
                listener("aimed", port: 2, [1: 5]), listener("same", port: 3),
            ])
        #expect(
            summary == [
                "added": "new,newer", "removed": "gone", "replaced": "moved",
                "retargeted": "aimed", "downstreams_reweighted": "1",
            ])
    }

    @Test("counts receivers that came, went or got another weight, over all listeners that stay")
    func receivers() {
        let summary = summary(
            from: [listener("a", [1: 1, 2: 1, 3: 1]), listener("b", port: 2, [1: 1])],
            to: [listener("a", [2: 1, 3: 7, 4: 1]), listener("b", port: 3, [1: 0, 8: 1])])
        #expect(
            summary == [
                "replaced": "b", "retargeted": "a", "downstreams_added": "2",
                "downstreams_removed": "1", "downstreams_reweighted": "2",
            ])
    }

    @Test("says so when nothing changed")
    func nothing() {
        #expect(summary(from: [listener("a")], to: [listener("a")]) == ["changed": "nothing"])
    }
}
