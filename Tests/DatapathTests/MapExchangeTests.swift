// SPDX-License-Identifier: Apache-2.0

@testable import BPFRuntime
import CDatapath
import Dispatch
import Glibc
import KernelPrograms
import LabNet
import Testing
import Tiers

/// Maps that are exchanged in an array of maps, of a program of the tests.
@Suite(
    "Maps that are exchanged", .tags(.network), .loadsPrograms,
    .enabled(if: KernelRelease.running >= .takesFanout))
struct MapExchangeTests {
    private let tables: SharedMap
    private static let bytes = TCFixture.tableBytes(1, Int(LB_SLOTS_MIN))

    init() throws {
        var object = try BPFObject(opening: .tcFanout)
        try object.set("lb_receivers_max", to: UInt32(1))
        try object.set("lb_slots_max", to: UInt32(LB_SLOTS_MIN))
        try object.size(mapsIn: "tables", valueBytes: Self.bytes)
        try object.load()
        tables = SharedMap(try object.map(named: "tables"))
    }

    private func makeMaps(_ places: Range<UInt32>) throws -> [(place: UInt32, map: SharedMap)] {
        try places.map {
            ($0, SharedMap(try BPFMap(singleNamed: "lb_table", valueBytes: Self.bytes)))
        }
    }

    private func number(at place: UInt32) throws -> UInt32? {
        try tables.map.value(of: place)?.words(of: UInt32.self).first
    }

    @Test("are in their places once the exchange has begun")
    func inPlace() throws {
        let maps = try makeMaps(0..<3)
        let exchange = try MapExchange.begin(in: tables, maps)
        for (place, map) in maps { #expect(try number(at: place) == map.map.number) }
        try exchange.wait()
        try exchange.wait()
        #expect(try number(at: 3) == nil)
    }

    @Test("a missing place is refused")
    func refused() throws {
        let maps = try makeMaps(0..<1).map { (place: UInt32.max, map: $0.map) }
        #expect(throws: BPFError.self) { try MapExchange.begin(in: tables, maps).wait() }
    }

    @Test("do not wait for other threads that block")
    func crowded() throws {
        // As many blocked threads as the queue may have.
        let release = DispatchSemaphore(value: 0)
        let waiting = DispatchGroup()
        let count = 4 * sysconf(Int32(_SC_NPROCESSORS_ONLN))
        for _ in 0..<count {
            DispatchQueue.global(qos: .userInitiated).async(group: waiting) { release.wait() }
        }
        let maps = try makeMaps(0..<1)
        let start = ContinuousClock.now
        defer {
            for _ in 0..<count { release.signal() }
            waiting.wait()
        }
        // If the exchange waited for them, it would wait until this releases them.
        DispatchQueue(label: "release").asyncAfter(deadline: .now() + 30) {
            for _ in 0..<count { release.signal() }
        }
        try MapExchange.begin(in: tables, maps).wait()
        #expect(ContinuousClock.now - start < .seconds(20))
    }
}
