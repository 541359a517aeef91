// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet
import Testing

@testable import FanoutDiscovery

extension DiscoveryTests {
    /// The two questions about a name (A and AAAA), of which one may fail.
    @Suite("Receivers by DNS, of two families")
    struct DNSFamilyTests {
        let log = LogRecorder()

        fileprivate func known(_ endpoints: (String?, String)...) -> DiscoveredSet {
            DiscoveredSet(
                endpoints.map {
                    DiscoveredEndpoint(
                        name: $0.0, address: IPAddress($0.1) ?? .loopback,
                        ports: [DiscoveredPort(number: 9000)])
                })
        }
    }
}

extension DiscoveryTests.DNSFamilyTests {
    @Test(
        "a failure beside an answer without records publishes nothing at the first look",
        arguments: [1, 28] as [UInt16])
    func firstLook(failing: UInt16) async throws {
        let server = try FakeDNS()
        server.change { $0.fails = { $1 == failing } }
        let follower = Follower(server.source(log: log, port: 9000))
        try await follower.counts(error: "servfail", times: 3)
        #expect(follower.sets.isEmpty)
        server.set([.address("r.example", "10.0.0.1"), .address("r.example", "fd00::1")])
        try await follower.shows(failing == 1 ? "fd00::1" : "10.0.0.1")
        #expect(follower.sets.last?.isPartial == true)
        server.change { $0.fails = { _, _ in false } }
        try await follower.shows("10.0.0.1", "fd00::1")
        #expect(follower.sets.last?.isPartial == false)
        server.set([])
        try await follower.shows()
    }

    @Test(
        "a later failure beside an answer without records keeps the receivers",
        arguments: ["10.0.0.1", "fd00::1"], [1, 28] as [UInt16])
    func laterLook(receiver: String, failing: UInt16) async throws {
        let server = try FakeDNS()
        server.set([.address("r.example", receiver)])
        let follower = Follower(server.source(log: log, port: 9000))
        try await follower.shows(receiver)
        server.change {
            $0.records = []
            $0.fails = { $1 == failing }
        }
        try await follower.counts(error: "servfail", times: 3)
        #expect(follower.sets.allSatisfy { $0 == follower.sets[0] })
        server.change { $0.fails = { _, _ in false } }
        try await follower.shows()
    }

    @Test("one family's answer leaves the last-known addresses of the other")
    func otherFamily() async throws {
        let server = try FakeDNS()
        server.set([.address("r.example", "10.0.0.1"), .address("r.example", "fd00::1")])
        let follower = Follower(server.source(log: log, port: 9000))
        try await follower.shows("10.0.0.1", "fd00::1")
        server.change {
            $0.records = [.address("r.example", "fd00::2")]
            $0.fails = { $1 == 1 }
        }
        try await follower.shows("10.0.0.1", "fd00::2")
        server.set([])
        try await follower.shows("10.0.0.1")
        server.change { $0.fails = { _, _ in false } }
        try await follower.shows()
    }

    @Test("what an earlier process found completes the first look, until each family is answered")
    func remembered() async throws {
        let server = try FakeDNS()
        server.set([.address("r.example", "fd00::2")])
        server.change { $0.fails = { $1 == 1 } }
        let lastKnown = known((nil, "10.0.0.1"), (nil, "fd00::1"))
        let follower = Follower(server.source(log: log, port: 9000, lastKnown: lastKnown))
        try await follower.shows("10.0.0.1", "fd00::2")
        server.change { $0.fails = { _, _ in false } }
        try await follower.shows("fd00::2")
        #expect(!follower.sets.contains { $0.endpoints.isEmpty })
    }

    @Test("an SRV target that fails keeps its last-known addresses; the other targets are followed")
    func targets() async throws {
        let server = try FakeDNS()
        let records: [FakeDNS.Record] = [
            .service("_s._udp.example", "a.example", port: 9001),
            .service("_s._udp.example", "b.example", port: 9002),
            .address("b.example", "10.0.0.2"),
        ]
        server.set(records)
        server.change { $0.fails = { name, type in name == "a.example" && type == 1 } }
        let name = "_s._udp.example"
        let fresh = Follower(server.source(log: log, name: name))
        try await fresh.shows("10.0.0.2")
        let lastKnown = known(("a.example", "10.0.0.1"), ("gone.example", "10.0.0.9"))
        let follower = Follower(server.source(log: log, name: name, lastKnown: lastKnown))
        try await follower.shows("10.0.0.1", "10.0.0.2")
        #expect(follower.sets.last?.endpoints.map(\.ports.first?.number) == [9001, 9002])
        server.set(records + [.address("a.example", "fd00::1")])
        try await follower.shows("10.0.0.1", "10.0.0.2", "fd00::1")
        server.set(records)
        try await follower.shows("10.0.0.1", "10.0.0.2")
        server.change { $0.fails = { _, _ in false } }
        try await follower.shows("10.0.0.2")
    }

    @Test("while the SRV question fails, nothing of the last-known addresses is forgotten")
    func services() async throws {
        let server = try FakeDNS()
        let name = "_s._udp.example"
        server.set([.service(name, "a.example", port: 9001)])
        server.change { $0.fails = { $1 == 33 || $1 == 1 } }
        let follower = Follower(
            server.source(log: log, name: name, lastKnown: known(("a.example", "10.0.0.1"))))
        try await follower.counts(error: "servfail", times: 2)
        #expect(follower.sets.isEmpty)
        server.change { $0.fails = { $1 == 1 } }
        try await follower.shows("10.0.0.1")
    }
}
