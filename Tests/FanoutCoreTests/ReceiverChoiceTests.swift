// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("The choice of receivers among endpoints", .tags(.unit))
struct ReceiverChoiceTests {
    private static let subject = DiscoverySubject.endpointSlices(
        .init(namespace: "n", service: "s"))

    private func listener(
        _ bind: String = "0.0.0.0:514", _ mode: ForwardingMode = .userspace,
        port: ReceiverPort = .number(9000), preserves: Bool = false, atMost limit: Int = 64
    ) throws -> Listener {
        Listener(
            name: "in", bind: try Endpoint(parsing: bind), mode: mode, preserveSource: preserves,
            downstreams: [], settings: ListenerSettings(maxDownstream: limit),
            discovery: ListenerDiscovery(receivers: Self.subject, port: port))
    }

    private func found(
        _ address: String, _ name: String? = nil,
        _ readiness: DiscoveredEndpoint.Readiness = .ready,
        ports: [DiscoveredPort] = [DiscoveredPort(name: "data", number: 9000)]
    ) throws -> DiscoveredEndpoint {
        DiscoveredEndpoint(
            name: name, address: try #require(IPAddress(address)), ports: ports,
            readiness: readiness)
    }

    private func choice(
        _ listener: Listener, _ endpoints: DiscoveredEndpoint...
    ) -> ReceiverChoice {
        ReceiverChoice(for: listener, among: DiscoveredSet(endpoints))
    }

    @Test(
        "ready endpoints receive, terminating ones have weight 0 beside them, others are left out")
    func ready() throws {
        let choice = choice(
            try listener(), try found("10.0.0.3"), try found("10.0.0.1", nil, .terminating),
            try found("10.0.0.2", nil, .notReady))
        #expect(
            choice.downstreams.map(\.endpoint.description) == ["10.0.0.1:9000", "10.0.0.3:9000"])
        #expect(choice.downstreams.map(\.weight) == [0, 1])
        #expect(choice.ready == 1 && choice.terminating == 1 && choice.notReady == 1)
    }

    @Test("without a ready endpoint, terminating ones receive; without those, none")
    func terminating() throws {
        let leaving = choice(
            try listener(), try found("10.0.0.1", nil, .terminating),
            try found("10.0.0.2", nil, .notReady))
        #expect(leaving.downstreams.map(\.weight) == [1])
        #expect(leaving.ready == 0)
        #expect(choice(try listener(), try found("10.0.0.2", nil, .notReady)).downstreams.isEmpty)
        #expect(ReceiverChoice(for: try listener(), among: nil).downstreams.isEmpty)
    }

    @Test("a port is chosen by number or name; an endpoint without ports has any number")
    func ports() throws {
        let other = try found("10.0.0.2", ports: [DiscoveredPort(name: "data", number: 9001)])
        let none = try found("10.0.0.3", ports: [])
        let byNumber = choice(try listener(), try found("10.0.0.1"), other, none)
        #expect(
            byNumber.downstreams.map(\.endpoint.description) == ["10.0.0.1:9000", "10.0.0.3:9000"])
        #expect(byNumber.unsuitable == 1)
        let byName = choice(try listener(port: .name("data")), try found("10.0.0.1"), other, none)
        #expect(
            byName.downstreams.map(\.endpoint.description) == ["10.0.0.1:9000", "10.0.0.2:9001"])
        let any = choice(try listener(port: .any), other, none)
        #expect(any.downstreams.map(\.endpoint.description) == ["10.0.0.2:9001"])
    }

    @Test("unreached are those that have nothing suitable: not the other address of who receives")
    func unreached() throws {
        let bound = try listener("192.0.2.1:514", preserves: true)
        let both = choice(bound, try found("10.0.0.1", "a"), try found("fd00::1", "a"))
        #expect(both.unsuitable == 1 && both.unreached == 0)
        let alone = choice(
            bound, try found("10.0.0.1", "a"), try found("fd00::2", "b"), try found("fd00::3"),
            try found("fd00::4"))
        #expect(alone.downstreams.count == 1 && alone.unreached == 3)
        let port = choice(bound, try found("10.0.0.2", ports: [DiscoveredPort(number: 1)]))
        #expect(port.unreached == 1)
        // A name of both families is suitable.
        var named = try listener("192.0.2.1:514", preserves: true)
        named.discovery = ListenerDiscovery(
            receivers: .dns(DNSQuery(name: "r.example", port: 9000)), port: .any)
        #expect(choice(named, try found("fd00::3"), try found("10.0.0.1")).unreached == 0)
        #expect(choice(named, try found("fd00::3")).unreached == 1)
        // A table with receivers of both families would lose clients of each.
        let dual = try listener("[::]:514", .tcEBPF)
        #expect(choice(dual, try found("fd00::1"), try found("10.0.0.1")).unreached == 1)
    }

    @Test("names are the pods' own, else the endpoint; a duplicate gets the endpoint appended")
    func names() throws {
        let choice = choice(
            try listener(), try found("10.0.0.1", "web-0", .terminating),
            try found("10.0.0.2", "web-0"), try found("10.0.0.3"))
        #expect(
            choice.downstreams.map(\.name) == [
                "web-0@10.0.0.1:9000", "web-0", "10.0.0.3:9000",
            ])
    }

    @Test("the same endpoint twice is one receiver, in its better state")
    func twice() throws {
        let again = try found(
            "10.0.0.1", "a", .notReady,
            ports: [DiscoveredPort(number: 9000), DiscoveredPort(number: 9001)])
        let choice = choice(try listener(), again, try found("10.0.0.1", "a"))
        #expect(choice.downstreams.count == 1 && choice.ready == 1 && choice.notReady == 0)
    }

    @Test("a pod with addresses of both families is one receiver, at the listener's family")
    func bothFamilies() throws {
        let pod = [try found("10.0.0.1", "a"), try found("fd00::1", "a")]
        let alone = [try found("fd00::2", "b"), try found("10.0.0.3")]
        let set = DiscoveredSet(pod + alone)
        let v4 = ReceiverChoice(for: try listener(), among: set)
        #expect(
            v4.downstreams.map { "\($0.endpoint.address)" } == ["10.0.0.1", "10.0.0.3", "fd00::2"])
        let v6 = ReceiverChoice(for: try listener("[fd00::9]:514"), among: set)
        #expect(
            v6.downstreams.map { "\($0.endpoint.address)" } == ["10.0.0.3", "fd00::1", "fd00::2"])
        let dead = choice(
            try listener(), try found("10.0.0.1", "a", .notReady), try found("fd00::1", "a"))
        #expect(dead.downstreams.map { "\($0.endpoint.address)" } == ["fd00::1"])
    }

    @Test("a listener that keeps the source takes its own family; one for both takes one of them")
    func ownFamily() throws {
        let set = DiscoveredSet([try found("10.0.0.1", "a"), try found("fd00::1", "a")])
        for (mode, preserves) in [(ForwardingMode.tcEBPF, true), (.userspace, true)] {
            func addresses(_ bind: String, _ set: DiscoveredSet) throws -> [String] {
                let listener = try listener(bind, mode, preserves: preserves)
                return ReceiverChoice(for: listener, among: set).downstreams.map {
                    "\($0.endpoint.address)"
                }
            }
            #expect(try addresses("192.0.2.1:514", set) == ["10.0.0.1"])
            #expect(try addresses("[fd00::9]:514", set) == ["fd00::1"])
            #expect(try addresses("[::]:514", set) == ["fd00::1"])
            let onlyV4 = DiscoveredSet([try found("10.0.0.1")])
            #expect(try addresses("[::]:514", onlyV4) == ["10.0.0.1"])
            #expect(try addresses("[fd00::9]:514", onlyV4) == [])
        }
    }

    @Test("never more than max_downstream: ready ones first, then by address, whatever the order")
    func limit() throws {
        let all = try (1...9).map { number in
            try found("10.0.0.\(number)", nil, number < 3 ? .terminating : .ready)
        }
        for order in [all, all.reversed(), all.shuffled()] {
            let choice = ReceiverChoice(for: try listener(atMost: 4), among: DiscoveredSet(order))
            #expect(
                choice.downstreams.map { "\($0.endpoint.address)" } == [
                    "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6",
                ])
            #expect(choice.surplus == 5)
        }
        let roomy = ReceiverChoice(for: try listener(atMost: 8), among: DiscoveredSet(all))
        #expect(roomy.downstreams.count == 8 && roomy.surplus == 1)
        #expect(roomy.downstreams.count { $0.weight == 0 } == 1)
    }

    @Test(
        "a desired state takes up receivers and addresses, each address at one listener of a port")
    func applied() throws {
        let vip = DiscoverySubject.loadBalancer(.init(namespace: "n", service: "s"))
        var first = try listener("192.0.2.1:514", .tcEBPF, preserves: true)
        first.interface = "eth0"
        first.served = .listed([IPAddress(v4: 0xc000_0209)])
        first.discovery?.addresses = vip
        var second = first
        (second.name, second.bind) = ("two", try Endpoint(parsing: "192.0.2.2:514"))
        second.served = .listed([])
        var third = second
        (third.name, third.bind) = ("three", try Endpoint(parsing: "192.0.2.2:515"))
        var fixed = first
        (fixed.name, fixed.discovery) = ("fixed", nil)
        fixed.served = .any
        let state = DesiredState(listeners: [first, second, third, fixed])
        #expect(state.subjects == [Self.subject, vip])
        let addresses = ["192.0.2.9", "192.0.2.7"].compactMap { IPAddress($0) }
        let view = DiscoveryView([
            Self.subject: DiscoveredSet([try found("10.0.0.1")]),
            vip: DiscoveredSet(addresses: addresses),
        ])
        let applied = state.applying(view)
        #expect(applied.listeners.map(\.downstreams.count) == [1, 1, 1, 0])
        let seven = try #require(IPAddress("192.0.2.7"))
        let nine = try #require(IPAddress("192.0.2.9"))
        #expect(applied.listeners[0].served == .listed([nine, seven]))
        #expect(applied.listeners[1].served == .listed([]))
        #expect(applied.listeners[2].served == .listed([seven, nine]))
        #expect(applied.listeners[3] == fixed)
        #expect(state.applying(DiscoveryView()).listeners == state.listeners)
    }
}
