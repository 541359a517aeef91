// SPDX-License-Identifier: Apache-2.0

import CDatapath
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
        let field = try #require(MemoryLayout<lb_reuseport_table>.offset(of: \.slots))
        // Swift does not import an array as long as that of the owners, the last member.
        let offset = value.count - 2 * Int(LB_SLOTS_MAX)
        let used = value.withUnsafeBytes { $0.load(fromByteOffset: field, as: UInt32.self) }
        return value.withUnsafeBytes { bytes in
            (0..<Int(used)).map {
                bytes.load(fromByteOffset: offset + 2 * $0, as: UInt16.self)
            }
        }
    }

    @Test(
        "the table in the kernel equals every plane's table for as many receivers",
        arguments: [1, 2, 3, 4, 5, 16, 63, 128, 1024])
    func equal(count: Int) throws {
        let place = try Place()
        _ = try place.group(count: count)
        #expect(try Self.owners(place) == Prediction(count: count).table.slots)
    }

    @Test("a table after a resize equals that of a new group")
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
        let folder = "\(place.pins.path)/g"
        func values(_ map: String) async throws -> [UInt64] {
            let dump = try await Self.bpftool(["map", "dump", "pinned", "\(folder)/\(map)"])
            return dump.matches(of: /"value": (\d+)/).compactMap { UInt64($0.output.1) }
        }
        #expect(try await values("udp_balancing_targets") == group.members().map(\.cookie))
        #expect(try await values("tcp_balancing_targets") == [])
        #expect(try await values("size") == [2])
        #expect(try await values("nonce") == [0x0123_4567_89ab_cdef])
        try members.leave(0)
    }

    private static func bpftool(_ arguments: [String]) async throws -> String {
        let process = try ChildProcess("bpftool", arguments)
        #expect(try await process.exit() == .exited(0))
        return process.record.state.output.joined(separator: "\n")
    }
}
