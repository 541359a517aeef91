// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

/// The difference between two desired states, as a table.
@Suite("Changes", .tags(.unit))
struct ChangeTests {
    struct Row: Sendable, CustomStringConvertible {
        let description: String
        let initial: [Listener]
        let replacement: [Listener]
        var added: [String] = []
        var removed: [String] = []
        var retargeted: [String] = []
        var replaced: [String] = []
    }

    static let rows = [
        Row(description: "nothing, twice", initial: [], replacement: []),
        Row(description: "the same", initial: [a, b], replacement: [a, b]),
        Row(description: "the same in another order", initial: [a, b], replacement: [b, a]),
        Row(description: "the first listener", initial: [], replacement: [a], added: ["a"]),
        Row(description: "another listener", initial: [a], replacement: [b, a], added: ["b"]),
        Row(description: "the last listener goes", initial: [a], replacement: [], removed: ["a"]),
        Row(
            description: "one for another", initial: [a, b], replacement: [b, listener("c")],
            added: ["c"], removed: ["a"]),
        Row(
            description: "a name changes", initial: [a], replacement: [a.with { $0.name = "z" }],
            added: ["z"], removed: ["a"]),
        Row(
            description: "a downstream joins", initial: [a, b],
            replacement: [a.with { $0.downstreams.append(downstream(3)) }, b], retargeted: ["a"]),
        Row(
            description: "a downstream leaves", initial: [a],
            replacement: [a.with { $0.downstreams.removeLast() }], retargeted: ["a"]),
        Row(
            description: "the last downstream leaves", initial: [a],
            replacement: [a.with { $0.downstreams = [] }], retargeted: ["a"]),
        Row(
            description: "a weight changes", initial: [a],
            replacement: [a.with { $0.downstreams[0] = downstream(1, weight: 9) }],
            retargeted: ["a"]),
        Row(
            description: "downstreams change places", initial: [a],
            replacement: [a.with { $0.downstreams.reverse() }], retargeted: ["a"]),
        Row(
            description: "another address", initial: [a],
            replacement: [a.with { $0.bind = Endpoint(IPAddress(v4: 7), port: 514) }],
            replaced: ["a"]),
        Row(
            description: "another mode", initial: [a],
            replacement: [a.with { $0.mode = .tcEBPF }], replaced: ["a"]),
        Row(
            description: "another balance", initial: [a],
            replacement: [a.with { $0.balance = .sourceIP }], replaced: ["a"]),
        Row(
            description: "the source is kept", initial: [a],
            replacement: [a.with { $0.preserveSource = true }], replaced: ["a"]),
        Row(
            description: "a setting", initial: [a],
            replacement: [a.with { $0.settings.batchSize = 64 }], replaced: ["a"]),
        Row(
            description: "a setting and a downstream", initial: [a],
            replacement: [
                a.with {
                    $0.settings.workers = 2
                    $0.downstreams.removeLast()
                }
            ], replaced: ["a"]),
        Row(
            description: "everything at once", initial: [a, b, listener("c"), listener("d")],
            replacement: [
                listener("e"), b.with { $0.downstreams.removeLast() }, a,
                listener("d").with { $0.balance = .random },
            ], added: ["e"], removed: ["c"], retargeted: ["b"], replaced: ["d"]),
    ]

    @Test("a change names what was added, removed, retargeted and replaced", arguments: rows)
    func diff(_ row: Row) {
        let change = Change.diff(
            from: DesiredState(listeners: row.initial), to: DesiredState(listeners: row.replacement)
        )
        #expect(change.added.map(\.name) == row.added)
        #expect(change.removed.map(\.name) == row.removed)
        #expect(change.retargeted.map(\.to.name) == row.retargeted)
        #expect(change.replaced.map(\.to.name) == row.replaced)
        let named = row.added + row.removed + row.retargeted + row.replaced
        #expect(change.isEmpty == named.isEmpty)
        let all = Set((row.initial + row.replacement).map(\.name))
        #expect(Set(change.unchanged.map(\.name)) == all.subtracting(named))
        for pair in change.retargeted + change.replaced {
            #expect(row.initial.contains(pair.from) && row.replacement.contains(pair.to))
        }
    }

    @Test("a change that is made leads from the one to the other", arguments: rows)
    func applied(_ row: Row) {
        let change = Change.diff(
            from: DesiredState(listeners: row.initial), to: DesiredState(listeners: row.replacement)
        )
        #expect(
            change.applied(to: row.initial) == row.replacement.sorted { $0.name < $1.name })
    }

    @Test("a data plane sees the listeners of its mode alone")
    func carried() {
        let kernel = Self.b.with { $0.mode = .tcEBPF }
        let state = DesiredState(listeners: [Self.a, kernel])
        #expect(state.carried(by: .userspace).listeners == [Self.a])
        #expect(state.carried(by: .tcEBPF).listeners == [kernel])
        #expect(state.carried(by: .afXDP).listeners.isEmpty)
    }

    static let a = listener("a")
    static let b = listener("b")

    static func listener(_ name: String) -> Listener {
        Listener(
            name: name, bind: Endpoint(IPAddress(v4: 0), port: 514),
            downstreams: [downstream(1), downstream(2)])
    }

    static func downstream(_ number: UInt32, weight: UInt16 = 1) -> Downstream {
        Downstream(
            name: "d\(number)", endpoint: Endpoint(IPAddress(v4: number), port: 514), weight: weight
        )
    }
}

extension Listener {
    fileprivate func with(_ edit: (inout Listener) -> Void) -> Listener {
        var copy = self
        edit(&copy)
        return copy
    }
}
