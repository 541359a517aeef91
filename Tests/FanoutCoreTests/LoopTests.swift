// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing

@Suite("Receivers that are found and lead back to their listener")
struct LoopTests {
    private func endpoint(_ text: String) throws -> Endpoint { try Endpoint(parsing: text) }

    /// One whose receivers stand in the file `name`.
    private func finding(
        _ name: String, at bind: String, _ mode: ForwardingMode = .userspace,
        by interface: String? = nil
    ) throws -> Listener {
        Listener(
            name: name, bind: try endpoint(bind), mode: mode, downstreams: [],
            settings: ListenerSettings(), interface: interface,
            discovery: ListenerDiscovery(receivers: .file(path: name, port: nil), port: .any))
    }

    private func writing(_ name: String, at bind: String, to receiver: String) throws -> Listener {
        Listener(
            name: name, bind: try endpoint(bind),
            downstreams: [Downstream(name: "r", endpoint: try endpoint(receiver))])
    }

    /// What the listeners are left with, and how many they go without.
    private func outcome(
        of listeners: [Listener], finding found: [String: [String]]
    ) throws -> (receivers: [String: [String]], loops: [String: Int]) {
        let sets = try found.map { name, texts in
            let endpoints = try texts.map(endpoint).map {
                DiscoveredEndpoint(address: $0.address, ports: [DiscoveredPort(number: $0.port)])
            }
            return (DiscoverySubject.file(path: name, port: nil), DiscoveredSet(endpoints))
        }
        let (state, loops) = DesiredState(listeners: listeners).apply(
            DiscoveryView(Dictionary(uniqueKeysWithValues: sets)))
        let receivers = state.listeners.map {
            ($0.name, $0.downstreams.map(\.endpoint.description))
        }
        return (Dictionary(uniqueKeysWithValues: receivers), loops)
    }

    @Test(
        "a listener is no receiver of its own, however it is addressed",
        arguments: [
            ("10.0.0.1:514", "10.0.0.1:514"), ("0.0.0.0:514", "127.0.0.1:514"),
            ("[::]:514", "127.0.0.9:514"), ("[::]:514", "[::1]:514"),
        ])
    func itself(bind: String, receiver: String) throws {
        let (receivers, loops) = try outcome(
            of: [try finding("a", at: bind)], finding: ["a": [receiver, "10.0.0.9:514"]])
        #expect(receivers == ["a": ["10.0.0.9:514"]])
        #expect(loops == ["a": 1])
    }

    @Test("a wildcard takes what is sent to an address that another socket is bound to")
    func wildcard() throws {
        let listeners = [
            try finding("a", at: "0.0.0.0:514"),
            try writing("b", at: "10.0.0.1:515", to: "10.0.0.9:1"),
        ]
        let (receivers, loops) = try outcome(of: listeners, finding: ["a": ["10.0.0.1:514"]])
        #expect(receivers["a"] == [] && loops == ["a": 1])
    }

    @Test("of a ring the last listener goes without, and what the configuration says stays")
    func ring() throws {
        let listeners = [
            try finding("a", at: "10.0.0.1:1"), try finding("b", at: "10.0.0.1:2"),
            try writing("c", at: "10.0.0.1:3", to: "10.0.0.1:1"),
        ]
        let (receivers, loops) = try outcome(
            of: listeners, finding: ["a": ["10.0.0.1:2"], "b": ["10.0.0.1:3", "10.0.0.9:3"]])
        #expect(receivers["a"] == ["10.0.0.1:2"])
        #expect(receivers["b"] == ["10.0.0.9:3"])
        #expect(receivers["c"] == ["10.0.0.1:1"])
        #expect(loops == ["b": 1])
    }

    @Test("a chain is no ring, nor is an endpoint on another port or host")
    func chain() throws {
        let listeners = [
            try finding("a", at: "10.0.0.1:1"), try finding("b", at: "10.0.0.1:2"),
            try finding("c", at: "10.0.0.2:5", .tcEBPF, by: "eth0"),
        ]
        let found = [
            "a": ["10.0.0.1:2", "10.0.0.1:9", "10.0.0.2:5"], "b": ["10.0.0.2:5", "10.0.0.7:2"],
            "c": ["10.0.0.3:5"],
        ]
        let (receivers, loops) = try outcome(of: listeners, finding: found)
        #expect(receivers == found && loops.isEmpty)
    }

    @Test(
        "a program never meets what its own host sends, except on the loopback interface",
        arguments: [ForwardingMode.tcEBPF, .afXDP, .xdpNAT], ["eth0", "lo"])
    func kernel(mode: ForwardingMode, interface: String) throws {
        let own = ["10.0.0.1:514", "10.0.0.9:514"]
        let (receivers, loops) = try outcome(
            of: [try finding("a", at: "10.0.0.1:514", mode, by: interface)], finding: ["a": own])
        #expect(receivers["a"] == (interface == "lo" ? [own[1]] : own))
        #expect(loops == (interface == "lo" ? ["a": 1] : [:]))
    }
}
