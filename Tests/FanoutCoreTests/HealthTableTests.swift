// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("The table of health", .tags(.unit))
struct HealthTableTests {
    private func endpoint(_ host: UInt32, _ port: UInt16 = 9) -> Endpoint {
        Endpoint(IPAddress(v4: 0x0a00_0000 + host), port: port)
    }

    private func listener(_ name: String, _ endpoints: [Endpoint], weights: [UInt16] = [])
        -> Listener
    {
        Listener(
            name: name, bind: endpoint(0, 514),
            downstreams: endpoints.enumerated().map { index, endpoint in
                Downstream(
                    name: "\(name)\(index)", endpoint: endpoint,
                    weight: weights.isEmpty ? 1 : weights[index])
            })
    }

    private func table(_ policy: HealthPolicy, _ listeners: [Listener]) -> HealthTable {
        var table = HealthTable()
        table.follow(policy, DesiredState(listeners: listeners))
        return table
    }

    private func fail(_ table: inout HealthTable, _ target: ProbeTarget, times: Int = 3) {
        for _ in 0..<times { _ = table.note(ProbeReport(target, .timeout)) }
    }

    @Test("one target for all downstreams that a probe cannot tell apart")
    func shared() {
        let listeners = [
            listener("a", [endpoint(1, 9), endpoint(1, 10), endpoint(2)]),
            listener("b", [endpoint(1, 9)]),
        ]
        #expect(table(HealthPolicy(kind: .icmp), listeners).targets.count == 2)
        #expect(table(HealthPolicy(kind: .udp), listeners).targets.count == 3)
        #expect(table(HealthPolicy(kind: .tcp, port: 80), listeners).targets.count == 2)
        #expect(table(HealthPolicy(kind: .icmp, port: 80), listeners).targets.count == 2)
    }

    @Test("a status change names every receiver that it concerns")
    func users() {
        let policy = HealthPolicy(fall: 1)
        var table = table(
            policy, [listener("a", [endpoint(1), endpoint(2)]), listener("b", [endpoint(1)])])
        let event = table.note(ProbeReport(policy.target(of: endpoint(1)), .timeout))
        #expect(event?.change == .unhealthy)
        #expect(event?.users.map(\.downstream.name).sorted() == ["a0", "b0"])
        #expect(table.view.unhealthy == [endpoint(1)])
        #expect(table.report.healthStatuses == [endpoint(1): false, endpoint(2): true])
        #expect(table.report.probes == [.timeout: 1])
    }

    @Test("a probe that this host could not send says nothing about a receiver")
    func errors() {
        let policy = HealthPolicy()
        var table = table(policy, [listener("a", [endpoint(1)])])
        for _ in 0..<10 { _ = table.note(ProbeReport(policy.target(of: endpoint(1)), .error)) }
        #expect(table.view.unhealthy.isEmpty)
        #expect(table.probes == [.error: 10])
    }

    @Test("a receiver keeps its status when the listeners or the way of probing change")
    func followed() {
        let policy = HealthPolicy()
        var table = table(policy, [listener("a", [endpoint(1), endpoint(2)])])
        fail(&table, policy.target(of: endpoint(1)))
        let both = DesiredState(listeners: [
            listener("a", [endpoint(1), endpoint(2)]), listener("b", [endpoint(1), endpoint(3)]),
        ])
        table.follow(policy, both)
        #expect(table.view.unhealthy == [endpoint(1)])
        let tcp = HealthPolicy(kind: .tcp, interval: .seconds(1), timeout: .seconds(1))
        table.follow(tcp, both)
        #expect(table.view.unhealthy == [endpoint(1)])
        #expect(table.note(ProbeReport(tcp.target(of: endpoint(1)), .success))?.change == .healthy)
        #expect(table.view.unhealthy.isEmpty)
    }

    @Test(
        "a result of a target that is gone changes nothing, and without a policy all is forgotten")
    func forgotten() {
        let policy = HealthPolicy(fall: 1)
        var table = table(policy, [listener("a", [endpoint(1)])])
        table.follow(policy, DesiredState(listeners: [listener("a", [endpoint(2)])]))
        #expect(table.note(ProbeReport(policy.target(of: endpoint(1)), .timeout)) == nil)
        #expect(table.probes.isEmpty)
        fail(&table, policy.target(of: endpoint(2)))
        table.follow(nil, DesiredState(listeners: [listener("a", [endpoint(2)])]))
        #expect(table.view == HealthView())
        #expect(table.targets.isEmpty)
        #expect(table.isHealthy(endpoint(2)) == nil)
    }

    /// Downstreams, how many of them are healthy, the threshold, and whether all are used.
    static let thresholds: [(total: Int, healthy: Int, percent: Int, opens: Bool)] = [
        (4, 4, 100, false), (4, 3, 100, true), (4, 2, 50, false), (4, 1, 50, true),
        (4, 0, 0, false), (4, 0, 1, true), (3, 1, 33, false), (3, 1, 34, true), (1, 0, 100, true),
    ]

    @Test("below min_healthy_percent a listener uses all downstreams", arguments: thresholds)
    func failOpen(total: Int, healthy: Int, percent: Int, opens: Bool) {
        let endpoints = (0..<total).map { endpoint(UInt32($0 + 1)) }
        let view = HealthView(
            unhealthy: Set(endpoints.dropFirst(healthy)), minHealthyPercent: percent)
        let state = DesiredState(listeners: [listener("a", endpoints)])
        #expect(view.opens(state.listeners[0]) == opens)
        let ready = state.applying(view).listeners[0].downstreams.count(where: \.isReady)
        #expect(ready == (opens ? total : healthy))
    }

    @Test("downstreams of weight 0 do not count for the threshold")
    func draining() {
        let endpoints = (1...3).map { endpoint(UInt32($0)) }
        let view = HealthView(unhealthy: [endpoints[0]], minHealthyPercent: 50)
        #expect(view.opens(listener("a", endpoints, weights: [1, 0, 0])))
        #expect(!view.opens(listener("a", endpoints, weights: [1, 1, 0])))
    }

    @Test(
        "a downstream that is not healthy owns no slot and keeps its place",
        arguments: Balance.allCases)
    func slots(balance: Balance) {
        var listener = listener("a", (1...3).map { endpoint(UInt32($0)) })
        listener.balance = balance
        let state = DesiredState(listeners: [listener])
        let next = state.applying(HealthView(unhealthy: [endpoint(2)])).listeners[0]
        #expect(next.downstreams.map(\.endpoint) == listener.downstreams.map(\.endpoint))
        #expect(Set(next.slotTable.slots) == [0, 2])
        #expect(next.sharesSockets(with: listener))
        let none = state.applying(HealthView(unhealthy: Set((1...3).map { endpoint($0) })))
        #expect(none.listeners[0].slotTable == .empty)
    }
}
