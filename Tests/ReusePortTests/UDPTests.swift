// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import GoldenVectors
import LabNet
import ReusePortLB
import Testing

extension ReusePortTests {
    @Suite("UDP groups")
    struct UDPTests {}
}

extension ReusePortTests.UDPTests {
    /// Checks three members with dozens of sources, four datagrams each.
    ///
    /// - Parameter destination: where the members are sent to; nil: where they are bound.
    static func checkSources(
        _ sources: [IPAddress], on address: IPAddress, destination: IPAddress? = nil
    ) throws {
        let group = try Place().group(count: 3, seed: 7)
        let members = try Members(group, count: 3, on: try .free(on: address))
        let target = Endpoint(destination ?? address, port: members.endpoint.port)
        try Spray(to: target).send(from: sources, each: 4)
        let arrivals = try members.arrivals()
        let prediction = Prediction(count: 3, seed: 7)
        for source in sources {
            let home = try #require(prediction.slot(of: source))
            #expect(arrivals[source] == [home: 4], "\(source)")
        }
        #expect(Set(arrivals.values.flatMap(\.keys)) == [0, 1, 2])
        // The program ran for each datagram: the kernel's own choice counts nothing.
        #expect(try Sums(group) == Sums(selected: UInt64(sources.count * 4)))
    }

    @Test("IPv4: the program sends each source to the member in every plane's table")
    func v4() throws {
        try Self.checkSources(IPAddress.v4Sources(48), on: .loopback)
    }

    @Test("IPv6: the program sends each source to the member in every plane's table")
    func v6() async throws {
        try await withV6Sources {
            try Self.checkSources(
                IPAddress.v6Sources(48), on: IPAddress(high: 0xfd00_0000_0000_0000, low: 1))
        }
    }

    @Test("a member on [::] gets the same IPv4 sources as a member on an IPv4 address")
    func dualStack() throws {
        try Self.checkSources(IPAddress.v4Sources(48), on: .any6, destination: .loopback)
    }

    @Test("10 000 IPv4 sources: each of four members has its share within 5 per cent")
    func shares4() throws {
        try Self.checkShares(IPAddress.v4Sources(10_000), on: .loopback)
    }

    @Test("10 000 IPv6 sources: each of four members has its share within 5 per cent")
    func shares6() async throws {
        try await withV6Sources {
            try Self.checkShares(
                IPAddress.v6Sources(10_000), on: IPAddress(high: 0xfd00_0000_0000_0000, low: 1))
        }
    }

    private static func checkShares(_ sources: [IPAddress], on address: IPAddress) throws {
        let group = try Place().group(count: 4)
        let members = try Members(group, count: 4, on: try .free(on: address))
        try Spray(to: members.endpoint).send(from: sources)
        let homes = try members.homes()
        #expect(homes.count == sources.count)
        for slot in 0..<4 {
            let share = homes.values.count { $0 == slot }
            #expect(abs(share - sources.count / 4) <= sources.count / 80, "\(slot): \(share)")
        }
    }

    @Test(
        "round_robin and random use every member evenly; a four-tuple keeps a flow, not a source",
        arguments: ReusePortGroup.Key.plain)
    func keys(key: ReusePortGroup.Key) throws {
        let group = try Place().group(count: 4, key: key)
        let members = try Members(group, count: 4, on: try .free())
        let flows = try (0..<40).map { _ in try Traffic(to: members.endpoint) }
        for flow in flows { for _ in 0..<25 { flow.send([1]) } }
        let counts = try (0..<4).map { try group.counters(slot: $0).selected }
        #expect(counts.reduce(0, +) == 1000)
        let met = try members.arrivals()[.loopback]?.count
        switch key {
        case .sourceIP: #expect(met == 1)
        case .fourTuple:
            #expect(met == 4)
            // All 25 datagrams of a flow reached one member.
            for count in counts { #expect(count % 25 == 0) }
        case .roundRobin, .random:
            for count in counts { #expect(abs(Int(count) - 250) < 100, "\(counts)") }
        case .cpu:
            let cpus = (0..<4).map { slot in (0..<processors).contains { $0 % 4 == slot } }
            #expect(zip(counts, cpus).allSatisfy { $1 || $0 == 0 }, "\(counts)")
        case .payload: Issue.record("no plain key")
        }
    }

    private var processors: Int { sysconf(Int32(_SC_NPROCESSORS_CONF)) }

    @Test("every golden payload goes to the owner of its key, and placement(of:) predicts it")
    func payloads() throws {
        var groups: [String: [PayloadVector]] = [:]
        for vector in PayloadVector.all { groups[vector.spec, default: []].append(vector) }
        for (spec, vectors) in groups {
            let key = try #require(PayloadKey(spec))
            let group = try Place().group(count: 3, key: .payload(key), seed: 7)
            #expect(try group.info().key == .payload(key))
            let members = try Members(group, count: 3, on: try .free())
            let prediction = Prediction(count: 3, seed: 7)
            for vector in vectors {
                let payload = try #require([UInt8](hexadecimal: vector.payload))
                let traffic = try Traffic(to: members.endpoint)
                let hash = FlowKey.payload(
                    payload, key, source: traffic.source, destination: members.endpoint, seed: 7)
                traffic.send(payload)
                let owner = try #require(prediction.table.owner(of: hash))
                #expect(try members.arrivals()[.loopback] == [owner: 1], "\(vector)")
                let placement = try group.placement(
                    of: traffic.source, to: members.endpoint, payload: payload)
                #expect(placement.slot == owner, "\(vector)")
            }
        }
    }

    @Test("other bytes than those of the group are refused, and so is a lookup without a payload")
    func payloadErrors() throws {
        let place = try Place()
        let key = PayloadKey(offset: 4, length: 8)
        let group = try place.group(count: 2, key: .payload(key))
        let stale = try #require(throws: ReusePortError.self) {
            _ = try place.group(count: 2, key: .payload(PayloadKey(offset: 4, length: 7)))
        }
        #expect(stale.code == .settingsDiffer)
        let invalid = try #require(throws: ReusePortError.self) {
            _ = try place.group("h", count: 2, key: .payload(PayloadKey(.radiusID, length: 4)))
        }
        #expect(invalid.code == .invalid)
        let blind = try #require(throws: ReusePortError.self) {
            _ = try group.placement(of: Endpoint(.loopback, port: 1))
        }
        #expect(blind.errno == ENODATA && blind.remedy.contains("payload"))
    }
}
