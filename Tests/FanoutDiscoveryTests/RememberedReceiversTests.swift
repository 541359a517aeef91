// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import FanoutDiscovery
import Foundation
import LabNet
import LinuxNet
import Testing

extension DiscoveryTests {
    @Suite("Receivers that are remembered")
    struct RememberedReceiversTests {
        private let log = LogRecorder()
        private let folder: ScratchFolder
        private let memory: LastKnownFile

        init() throws {
            folder = try ScratchFolder()
            memory = LastKnownFile(path: folder.path("r"), logger: log.logger)
        }
    }
}

extension DiscoveryTests.RememberedReceiversTests {
    private static let pods = DiscoverySubject.endpointSlices(.init(namespace: "n", service: "s"))
    private static let list = DiscoverySubject.file(path: "/list", port: 9)

    private func sets() throws -> [DiscoverySubject: DiscoveredSet] {
        let pods = [
            DiscoveredEndpoint(
                name: "pod-1", address: try #require(IPAddress("10.0.0.1")),
                ports: [
                    DiscoveredPort(name: "data", number: 9000), DiscoveredPort(number: 65_535),
                ], readiness: .terminating, weight: 7),
            DiscoveredEndpoint(
                address: try #require(IPAddress("fe80::1%eth0")), ports: [], readiness: .notReady),
        ]
        return [
            Self.pods: DiscoveredSet(pods, addresses: [try #require(IPAddress("192.0.2.1"))]),
            Self.list: DiscoveredSet(),
        ]
    }

    /// What looks these up.
    private func state(_ subjects: DiscoverySubject...) -> DesiredState {
        DesiredState(
            listeners: subjects.map { subject in
                Listener(
                    name: "in-\(subject)", bind: Endpoint(.loopback, port: 514), downstreams: [],
                    discovery: ListenerDiscovery(receivers: subject, port: .any))
            })
    }

    private func recall(_ subjects: DiscoverySubject...) -> [DiscoverySubject: DiscoveredSet] {
        subjects.reduce(into: [:]) { $0.merge(memory.recall(state($1)).sets) { $1 } }
    }

    private func keep(_ sets: [DiscoverySubject: DiscoveredSet]) throws {
        try memory.keep(DiscoveryView(sets))
    }

    @Test("what was kept is recalled as it was, and nothing that was not asked for")
    func roundTrip() throws {
        let sets = try sets()
        try keep(sets)
        #expect(memory.recall(state(Self.pods, Self.list)).sets == sets)
        #expect(recall(Self.pods) == [Self.pods: try #require(sets[Self.pods])])
        #expect(recall(.loadBalancer(.init(namespace: "n", service: "s"))).isEmpty)
        try keep([:])
        #expect(recall(Self.pods).isEmpty)
        #expect(log.lines.isEmpty)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(names == ["r"], "nothing is left beside it")
    }

    @Test("so are last-known receivers, for their listener and source")
    func lastKnowns() throws {
        let lastKnown = LastKnown(
            downstreams: [
                Downstream(name: "a", endpoint: try Endpoint(parsing: "10.0.0.1:7"), weight: 0),
                Downstream(
                    name: "b", endpoint: try Endpoint(parsing: "[fe80::1%eth0]:8"), weight: 65_535),
            ], addresses: [try #require(IPAddress("192.0.2.1"))])
        let place = try #require(state(Self.pods).lastKnownPlaces.first)
        let view = DiscoveryView(
            try sets().filter { $0.key == Self.list },
            lastKnowns: [
                place: lastKnown,
                LastKnown.Place(listener: place.listener, subject: Self.list): LastKnown(),
                LastKnown.Place(listener: "other", subject: Self.pods): LastKnown(),
            ])
        try memory.keep(view)
        #expect(memory.recall(state(Self.pods)) == DiscoveryView(lastKnowns: [place: lastKnown]))
        #expect(memory.recall(state(Self.list)).lastKnowns.isEmpty)
    }

    @Test("nothing is recalled without a file, nor from one that others may write to")
    func own() throws {
        #expect(recall(Self.pods).isEmpty)
        try keep(try sets())
        let path = folder.path("r")
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o620], ofItemAtPath: path)
        #expect(recall(Self.pods).isEmpty)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(!recall(Self.pods).isEmpty)
        try FileManager.default.moveItem(atPath: path, toPath: path + "2")
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: path + "2")
        #expect(recall(Self.pods).isEmpty)
        #expect(log.count("receivers that were remembered cannot be read") == 2)
    }

    @Test(
        "a file that is damaged, or of another version, is told of and recalls nothing",
        arguments: ["", "{", "[]", #"{"version":2,"sources":[]}"#, #"{"version":1}"#])
    func damaged(text: String) throws {
        try folder.write(text, to: "r")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: folder.path("r"))
        #expect(recall(Self.pods).isEmpty)
        #expect(log.count("receivers that were remembered cannot be read") == 1)
    }

    @Test("a folder that is gone is no trouble, and an endpoint that makes no sense is left out")
    func odd() throws {
        #expect(throws: SystemError.self) {
            try LastKnownFile(path: folder.path("no/r"), logger: log.logger)
                .keep(DiscoveryView(sets()))
        }
        let endpoints = ["10.0.0.1", "x"].map {
            #"{"address":"\#($0)","ports":[],"readiness":"ready","weight":1}"#
        }.joined(separator: ",")
        let source =
            #"{"source":"endpointslices:n/s","addresses":["y"],"endpoints":[\#(endpoints)]}"#
        try folder.write(#"{"version":1,"sources":[\#(source)]}"#, to: "r")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: folder.path("r"))
        let recalled = try #require(recall(Self.pods)[Self.pods])
        #expect(recalled.endpoints.map(\.address) == [try #require(IPAddress("10.0.0.1"))])
        #expect(recalled.addresses.isEmpty)
    }
}
