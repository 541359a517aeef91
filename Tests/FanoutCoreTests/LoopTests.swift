// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Testing
import Tiers

@Suite("Discovered receivers that loop, or belong to another listener", .tags(.unit))
struct LoopTests {
    private func endpoint(_ text: String) throws -> Endpoint { try Endpoint(parsing: text) }

    /// A listener whose receivers are in the file `name`.
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

    /// The receivers that are left, and how many were removed.
    private func outcome(
        of listeners: [Listener], finding found: [String: [String]], on host: [String] = [],
        _ reason: DiscoveryReport.Unused = .loop
    ) throws -> (receivers: [String: [String]], leftOut: [String: Int]) {
        let sets = try found.map { name, texts in
            let endpoints = try texts.map(endpoint).map {
                DiscoveredEndpoint(address: $0.address, ports: [DiscoveredPort(number: $0.port)])
            }
            return (DiscoverySubject.file(path: name, port: nil), DiscoveredSet(endpoints))
        }
        let (state, leftOut) = DesiredState(listeners: listeners).apply(
            DiscoveryView(
                Dictionary(uniqueKeysWithValues: sets),
                ownAddresses: Set(host.compactMap { IPAddress($0) })))
        let receivers = state.listeners.map {
            ($0.name, $0.downstreams.map(\.endpoint.description))
        }
        return (
            Dictionary(uniqueKeysWithValues: receivers), leftOut.compactMapValues { $0[reason] }
        )
    }

    @Test(
        "a listener is never its own receiver, however it is addressed",
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

    @Test("a wildcard takes datagrams to an address that another socket is bound to")
    func wildcard() throws {
        let listeners = [
            try finding("a", at: "0.0.0.0:514"),
            try writing("b", at: "10.0.0.1:515", to: "10.0.0.9:1"),
        ]
        let (receivers, loops) = try outcome(of: listeners, finding: ["a": ["10.0.0.1:514"]])
        #expect(receivers["a"] == [] && loops == ["a": 1])
    }

    @Test("a wildcard takes datagrams to any address of the host")
    func host() throws {
        let (receivers, loops) = try outcome(
            of: [try finding("a", at: "0.0.0.0:514")],
            finding: ["a": ["10.0.0.5:514", "10.0.0.5:515", "10.0.0.6:514"]], on: ["10.0.0.5"])
        #expect(receivers["a"] == ["10.0.0.5:515", "10.0.0.6:514"] && loops == ["a": 1])
    }

    @Test("in a loop the last listener loses its receiver; configured receivers stay")
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

    @Test("a chain is no loop, nor is an endpoint on another port or host")
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
        "a program never sees what its own host sends, except on the loopback interface",
        arguments: [ForwardingMode.tcEBPF, .afXDP, .xdpNAT], ["eth0", "lo"])
    func kernel(mode: ForwardingMode, interface: String) throws {
        let own = ["10.0.0.1:514", "10.0.0.9:514"]
        let (receivers, loops) = try outcome(
            of: [try finding("a", at: "10.0.0.1:514", mode, by: interface)], finding: ["a": own])
        #expect(receivers["a"] == (interface == "lo" ? [own[1]] : own))
        #expect(loops == (interface == "lo" ? ["a": 1] : [:]))
    }

    @Test("a server of xdp_nat belongs to one listener: whose configuration names it, or the first")
    func shared() throws {
        var written = try writing("c", at: "10.0.0.1:3", to: "10.0.0.9:9")
        (written.mode, written.interface) = (.xdpNAT, "eth0")
        let listeners = [
            try finding("a", at: "10.0.0.1:1", .xdpNAT, by: "eth0"),
            try finding("b", at: "10.0.0.1:2", .xdpNAT, by: "eth0"), written,
            try finding("d", at: "10.0.0.1:4", .tcEBPF, by: "eth0"),
        ]
        let found = ["10.0.0.8:8", "10.0.0.9:9"]
        let (receivers, shared) = try outcome(
            of: listeners, finding: ["a": found, "b": found + ["10.0.0.9:10"], "d": found], .shared)
        #expect(receivers["a"] == ["10.0.0.8:8"] && receivers["b"] == ["10.0.0.9:10"])
        #expect(receivers["c"] == ["10.0.0.9:9"] && receivers["d"] == found)
        #expect(shared == ["a": 1, "b": 2])
    }

    @Test("a receiver with a port of its own is none for several ports at once")
    func ports() throws {
        var listener = try finding("a", at: "10.0.0.1:1", .xdpNAT, by: "eth0")
        listener.nat.furtherPorts = [2]
        let (receivers, shared) = try outcome(
            of: [listener], finding: ["a": ["10.0.0.9:1", "10.0.0.8:9"]], .shared)
        #expect(receivers["a"] == ["10.0.0.9:1"] && shared == ["a": 1])
    }
}
