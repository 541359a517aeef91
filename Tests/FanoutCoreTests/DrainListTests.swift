// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("Receivers drained by hand", .tags(.unit))
struct DrainListTests {
    private func state(_ listeners: [String: [String]]) -> DesiredState {
        DesiredState(
            listeners: listeners.sorted { $0.key < $1.key }.map { name, receivers in
                Listener(
                    name: name, bind: Endpoint(IPAddress(v4: 0), port: 514),
                    downstreams: receivers.enumerated().map { index, receiver in
                        Downstream(
                            name: receiver,
                            endpoint: Endpoint(
                                IPAddress(v4: 0x7f00_0001), port: 1000 + UInt16(index)),
                            weight: 5)
                    })
            })
    }

    private func names(_ name: String, _ state: DesiredState) -> [String] {
        DrainList.entries(named: name, in: state).sorted().map(\.description)
    }

    @Test("are named with their listener, or alone in whichever listener has them")
    func naming() {
        let state = state(["a": ["x", "y"], "b": ["x"]])
        #expect(names("a/x", state) == ["a/x"])
        #expect(names("x", state) == ["a/x", "b/x"])
        #expect(names("y", state) == ["a/y"])
        #expect(names("z", state) == [] && names("a", state) == [] && names("", state) == [])
    }

    @Test("may have slashes in their names and in their listeners'")
    func slashes() {
        let state = state(["a/b": ["c"], "a": ["b/c", "d"], "e": ["a/d"]])
        #expect(names("a/b/c", state) == ["a/b/c", "a/b/c"], "it means both")
        #expect(names("a/d", state) == ["a/d"], "with its listener goes before alone")
    }

    @Test("have weight 0 in the desired state, and nothing else changes")
    func applying() {
        let before = state(["a": ["x", "y"], "b": ["x"]])
        let drains = DrainList([DrainList.Entry(listener: "a", downstream: "x")])
        let after = before.applying(drains)
        #expect(after.listeners.map { $0.downstreams.map(\.weight) } == [[0, 5], [5]])
        #expect(after.listeners.map(\.name) == before.listeners.map(\.name))
        #expect(!after.listeners[0].downstreams[0].isReady)
        #expect(before.applying(DrainList()) == before)
    }
}
