// SPDX-License-Identifier: Apache-2.0

import ClusterLab
import FanoutCore
import LabNet
import NIOCore
import Testing

@testable import FanoutDiscovery

extension DiscoveryTests {
    @Suite("EndpointSlices")
    struct SliceTests {}
}

extension DiscoveryTests.SliceTests {
    private func decode(_ json: String) throws -> EndpointSlice {
        try APIClient.decode(EndpointSlice.self, ByteBuffer(string: json))
    }

    private func merged(_ json: String...) throws -> DiscoveredSet {
        EndpointSlice.merged(try json.map(decode))
    }

    private func slice(_ endpoints: String, ports: String = "[{\"port\":1,\"protocol\":\"UDP\"}]")
        -> String
    {
        "{\"metadata\":{\"name\":\"a\"},\"addressType\":\"IPv4\",\"endpoints\":\(endpoints),"
            + "\"ports\":\(ports)}"
    }

    static let conditions: [(String, DiscoveredEndpoint.Readiness)] = [
        ("null", .ready), ("{}", .ready), ("{\"ready\":null}", .ready),
        ("{\"ready\":true,\"terminating\":true}", .ready),
        ("{\"ready\":false}", .notReady),
        ("{\"ready\":false,\"terminating\":true}", .terminating),
        ("{\"ready\":false,\"serving\":true,\"terminating\":true}", .terminating),
        ("{\"ready\":false,\"serving\":null,\"terminating\":true}", .terminating),
        ("{\"ready\":false,\"serving\":false,\"terminating\":true}", .notReady),
        ("{\"ready\":false,\"serving\":true,\"terminating\":null}", .notReady),
        ("{\"ready\":false,\"serving\":true,\"terminating\":false}", .notReady),
    ]

    @Test(
        "conditions that are absent mean ready, serving and not terminating", arguments: conditions)
    func readiness(conditions: String, expected: DiscoveredEndpoint.Readiness) throws {
        let set = try merged(
            slice("[{\"addresses\":[\"10.0.0.1\"],\"conditions\":\(conditions)}]"))
        #expect(set.endpoints.map(\.readiness) == [expected])
    }

    @Test("ports other than UDP, or without a number, do not receive")
    func ports() throws {
        let one = "[{\"addresses\":[\"10.0.0.1\"]}]"
        for ports in [
            "[{\"port\":1}]", "[{\"port\":1,\"protocol\":\"TCP\"}]", "[{\"protocol\":\"UDP\"}]",
            "[{\"port\":70000,\"protocol\":\"UDP\"}]", "[{\"port\":0,\"protocol\":\"UDP\"}]",
        ] {
            let set = try merged(slice(one, ports: ports))
            #expect(set.endpoints.isEmpty && set.unusable == [.noPort: 1], "\(ports)")
        }
        let mixed = try merged(
            slice(
                one,
                ports: "[{\"port\":1},{\"name\":\"d\",\"port\":2,\"protocol\":\"UDP\"},"
                    + "{\"name\":\"n\",\"protocol\":\"UDP\"}]"))
        #expect(mixed.endpoints.map(\.ports) == [[DiscoveredPort(name: "d", number: 2)]])
        for ports in ["null", "[]"] {
            #expect(try merged(slice(one, ports: ports)).endpoints.map(\.ports) == [[]])
        }
    }

    @Test("slices of names, and addresses that are none, are left out and counted")
    func unusable() throws {
        let names = slice("[{\"addresses\":[\"a.example\"]},{\"addresses\":[\"b.example\"]}]")
            .replacing("IPv4", with: "FQDN")
        let set = try merged(
            names,
            slice(
                "[{\"addresses\":[\"x\"]},{\"addresses\":[]},{\"addresses\":[\"0.0.0.0\"]},"
                    + "{\"addresses\":[\"224.0.0.1\"]},{\"addresses\":[\"10.0.0.1\",\"10.0.0.2\"]}]"
            ))
        #expect(set.endpoints.map { "\($0.address)" } == ["10.0.0.1"])
        #expect(set.unusable == [.name: 2, .badAddress: 4])
        #expect(
            set.states == [
                "ready": 1, "terminating": 0, "not_ready": 0, "fqdn": 2, "no_port": 0,
                "bad_address": 4,
            ])
    }

    @Test("an endpoint in two slices is there once, in its better state; null is an empty slice")
    func twice() throws {
        func one(_ ready: Bool) -> String {
            slice("[{\"addresses\":[\"10.0.0.1\"],\"conditions\":{\"ready\":\(ready)}}]")
        }
        for order in [[one(true), one(false)], [one(false), one(true)]] {
            let set = EndpointSlice.merged(try (order + [slice("null")]).map(decode))
            #expect(set.endpoints.map(\.readiness) == [.ready])
        }
    }

    @Test("slices of both families make one set, and pods give their names")
    func families() async throws {
        let stage = try ClusterStage()
        try stage.cluster.put(
            Slice("s-4", [Slice.Endpoint("10.0.0.1", pod: "web-0")]),
            Slice("s-6", [Slice.Endpoint("fd00::1", pod: "web-0")], family: "IPv6"))
        let follower = try stage.follow()
        try await follower.shows("10.0.0.1", "fd00::1")
        #expect(follower.sets.last?.endpoints.map(\.name) == ["web-0", "web-0"])
    }

    @Test("a load balancer's addresses come and go with the service")
    func loadBalancer() async throws {
        let stage = try ClusterStage()
        let subject = DiscoverySubject.loadBalancer(.init(namespace: nil, service: "s"))
        let follower = Follower(try stage.sources().source(for: subject))
        func shows(_ addresses: String...) async throws {
            try await eventually("\(addresses)") {
                follower.sets.last?.addresses.map { "\($0)" } == addresses
            }
        }
        try await shows()
        stage.cluster.put(service: "s", ingress: [])
        stage.cluster.put(service: "s", ingress: ["192.0.2.2", "192.0.2.1", "name", "2001:db8::1"])
        try await shows("192.0.2.1", "192.0.2.2", "2001:db8::1")
        stage.cluster.put(service: "s", ingress: [])
        try await shows()
        let selector = stage.cluster.watchRequests.last?.query["fieldSelector"]
        #expect(selector == "metadata.name=s")
    }
}
