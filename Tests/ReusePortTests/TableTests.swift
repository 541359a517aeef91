// SPDX-License-Identifier: Apache-2.0

import CLibBPF
import FanoutCore
import Glibc
import LabNet
import ReusePortLB
import Testing

extension ReusePortTests {
    @Suite("Tables")
    struct TableTests {}
}

extension ReusePortTests.TableTests {
    /// The slot table as the kernel holds it: the pinned map `slots`.
    private static func owners(_ place: Place) throws -> [UInt16] {
        let map = bpf_obj_get("\(place.pins.path)/g/slots")
        guard map >= 0 else { throw Failed("bpf_obj_get") }
        defer { close(map) }
        var information = bpf_map_info()
        var size = UInt32(MemoryLayout<bpf_map_info>.size)
        guard bpf_obj_get_info_by_fd(map, &information, &size) == 0 else { throw Failed("info") }
        var value = [UInt8](repeating: 0, count: Int(information.value_size))
        var zero: UInt32 = 0
        guard bpf_map_lookup_elem(map, &zero, &value) == 0 else { throw Failed("lookup") }
        let used = value.withUnsafeBytes { Int($0.load(as: UInt32.self)) }
        return value.dropFirst(4).prefix(used).map(UInt16.init)
    }

    @Test(
        "the table in the kernel is the one that every plane has for as many receivers",
        arguments: [1, 2, 3, 4, 5, 16, 63, 128])
    func equal(count: Int) throws {
        let place = try Place()
        _ = try place.group(count: count)
        #expect(try Self.owners(place) == Prediction(count: count).table.slots)
    }

    @Test("a table that came about by resizing is the one of a new group")
    func resized() throws {
        let place = try Place()
        let group = try place.group(count: 3)
        for count in [4, 17, 2, 128, 3] {
            try group.resize(count: count)
            #expect(try Self.owners(place) == Prediction(count: count).table.slots)
            #expect(try group.info().count == count)
        }
    }

    @Test("bpftool reads the pinned maps by the names of the contract")
    func names() async throws {
        let place = try Place()
        let group = try place.group(count: 2, seed: 0x0123_4567_89ab_cdef)
        let members = try Members(group, count: 2, on: try .free())
        for map in ["udp_balancing_targets", "tcp_balancing_targets"] {
            let dump = try await Self.bpftool(["map", "dump", "pinned", "\(place.pins.path)/g/\(map)"])
            #expect(dump.contains("key: 00 00 00 00") == map.hasPrefix("udp"), "\(dump)")
        }
        let size = try await Self.bpftool(["map", "dump", "pinned", "\(place.pins.path)/g/size"])
        #expect(size.contains("2"), "\(size)")
        let nonce = try await Self.bpftool(["map", "dump", "pinned", "\(place.pins.path)/g/nonce"])
        #expect(nonce.contains("\(0x0123_4567_89ab_cdef)"), "\(nonce)")
        try members.leave(0)
    }

    private static func bpftool(_ arguments: [String]) async throws -> String {
        let process = try ChildProcess("bpftool", arguments)
        #expect(try await process.exit() == .exited(0))
        return process.record.state.output.joined(separator: "\n")
    }
}
