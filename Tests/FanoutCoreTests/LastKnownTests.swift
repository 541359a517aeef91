// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("Last-known receivers, until a new source answers", .tags(.unit))
struct LastKnownTests {
    private static let list = DiscoverySubject.file(path: "/list", port: nil)
    private static let service = DiscoverySubject.endpointSlices(
        .init(namespace: "n", service: "s"))

    private func listener(
        _ name: String, _ source: DiscoverySubject? = nil, at bind: String = "127.0.0.1:514",
        with downstreams: [Downstream] = [], atMost limit: Int = 64
    ) throws -> Listener {
        Listener(
            name: name, bind: try Endpoint(parsing: bind), downstreams: downstreams,
            settings: ListenerSettings(maxDownstream: limit),
            discovery: source.map { ListenerDiscovery(receivers: $0, port: .number(9000)) })
    }

    private func receiver(_ text: String, weight: UInt16 = 1) throws -> Downstream {
        Downstream(name: "r-" + text, endpoint: try Endpoint(parsing: text), weight: weight)
    }

    /// The listeners after a change to silent sources.
    private func outcome(
        from previous: [Listener], to next: [Listener], _ view: DiscoveryView = DiscoveryView()
    ) -> [Listener] {
        let (previous, next) = (DesiredState(listeners: previous), DesiredState(listeners: next))
        var view = view
        view.lastKnowns = next.lastKnowns(after: previous, view)
        return next.applying(view).listeners
    }

    @Test(
        "they keep their ports and weights, for the listener of the same name")
    func own() throws {
        let a = [try receiver("10.0.0.1:7"), try receiver("10.0.0.2:8", weight: 0)]
        let b = [try receiver("10.0.0.3:9", weight: 5)]
        let next = outcome(
            from: [try listener("a", with: a), try listener("b", at: "127.0.0.1:515", with: b)],
            to: [
                try listener("b", Self.service, at: "127.0.0.1:515"),
                try listener("a", Self.service),
                try listener("c", Self.service, at: "127.0.0.1:516"),
            ])
        #expect(next.map(\.downstreams) == [b, a, []])
    }

    @Test("an answer ends them, even an empty one")
    func answered() throws {
        let previous = [try listener("a", with: [try receiver("10.0.0.1:7")])]
        let next = DesiredState(listeners: [try listener("a", Self.service)])
        let lastKnowns = next.lastKnowns(after: DesiredState(listeners: previous), DiscoveryView())
        #expect(next.unknownSubjects(in: DiscoveryView()) == [Self.service])
        #expect(next.unknownSubjects(in: DiscoveryView(lastKnowns: lastKnowns)).isEmpty)
        let answered = DiscoveryView([Self.service: DiscoveredSet()], lastKnowns: lastKnowns)
        #expect(next.applying(answered).listeners[0].downstreams.isEmpty)
        let elsewhere = DesiredState(listeners: [try listener("a", Self.list)])
        #expect(
            elsewhere.applying(DiscoveryView(lastKnowns: lastKnowns)).listeners[0].downstreams
                .isEmpty)
    }

    @Test("an answer about one family ends it only for a listener that can use that family")
    func partly() throws {
        let previous = [try receiver("10.0.0.1:7")]
        var kept = try listener("a", Self.service)
        kept.preserveSource = true
        let next = DesiredState(
            listeners: [kept, try listener("b", Self.service, at: "127.0.0.1:515")])
        let lastKnowns = next.lastKnowns(
            after: DesiredState(listeners: [
                try listener("a", with: previous),
                try listener("b", at: "127.0.0.1:515", with: previous),
            ]), DiscoveryView())
        var found = DiscoveredSet([
            DiscoveredEndpoint(
                address: try #require(IPAddress("fd00::1")), ports: [DiscoveredPort(number: 9000)])
        ])
        found.isPartial = true
        let partly = next.applying(DiscoveryView([Self.service: found], lastKnowns: lastKnowns))
        #expect(partly.listeners[0].downstreams == previous)
        #expect(partly.listeners[1].downstreams.map(\.endpoint.description) == ["[fd00::1]:9000"])
        found.isPartial = false
        let whole = next.applying(DiscoveryView([Self.service: found], lastKnowns: lastKnowns))
        #expect(whole.listeners[0].downstreams.isEmpty)
    }

    @Test("they exclude families that the listener cannot forward to, and the surplus")
    func fitting() throws {
        let previous = try ["10.0.0.3:1", "10.0.0.2:1", "[fd00::1]:1", "10.0.0.4:1"].map {
            try receiver($0, weight: $0.hasPrefix("10.0.0.2") ? 0 : 1)
        }
        var next = try listener("a", Self.service, atMost: 2)
        next.preserveSource = true
        let kept = outcome(from: [try listener("a", with: previous)], to: [next])
        #expect(kept[0].downstreams == [previous[0], previous[3]])
        next.bind = try Endpoint(parsing: "[::]:514")
        let own = outcome(from: [try listener("a", with: previous)], to: [next])
        #expect(own[0].downstreams == [previous[2]], "one family only, its own")
    }

    @Test("addresses that were found stay served, previously configured ones do not")
    func addresses() throws {
        func vip(_ service: String) -> DiscoverySubject {
            .loadBalancer(.init(namespace: "n", service: service))
        }
        let (written, found) = (IPAddress(v4: 0xc000_0209), IPAddress(v4: 0xc000_020a))
        var previous = try listener("a", Self.list)
        (previous.mode, previous.interface) = (.tcEBPF, "eth0")
        previous.discovery?.addresses = vip("s")
        previous.served = .listed([written])
        var next = previous
        next.discovery = ListenerDiscovery(
            receivers: Self.service, port: .number(9000), addresses: vip("t"))
        next.served = .listed([])
        let view = DiscoveryView([vip("s"): DiscoveredSet(addresses: [found])])
        #expect(outcome(from: [previous], to: [next], view)[0].served == .listed([found]))
        let silent = DesiredState(listeners: [next])
        let lastKnowns = silent.lastKnowns(after: DesiredState(listeners: [previous]), view)
        #expect(silent.unknownSubjects(in: DiscoveryView(lastKnowns: lastKnowns)) == [Self.service])
    }
}
