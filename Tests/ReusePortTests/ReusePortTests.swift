// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import ReusePortLB
import Testing
import Tiers

/// The library with real sockets and the real program. The tests run one at a time: several send thousands of
/// packets and count every one.
@Suite(
    "ReusePortLB", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: loading kernel programs needs root"))
enum ReusePortTests {}

/// A place for the groups of one test.
struct Place: Sendable {
    let pins: BPFFileSystem

    init() throws { pins = try BPFFileSystem() }

    func options(
        count: Int? = nil, key: ReusePortGroup.Key? = nil, seed: UInt64? = nil,
        existingOnly: Bool = false, flows: Int? = nil
    ) -> GroupOptions {
        var options = GroupOptions(count: count, key: key, pinRoot: pins.path)
        options.seed = seed
        options.flows = flows
        if let count, count > ReusePortGroup.defaultCapacity { options.capacity = count }
        options.existingOnly = existingOnly
        return options
    }

    func group(
        _ name: String = "g", count: Int? = nil, key: ReusePortGroup.Key? = nil,
        seed: UInt64? = nil
    ) throws -> ReusePortGroup {
        try ReusePortGroup(name, options(count: count, key: key, seed: seed))
    }
}

/// The sums of a group's counters.
struct Sums: Equatable {
    var selected: UInt64 = 0
    var fallback: UInt64 = 0
    var missed: UInt64 = 0
    var left: UInt64 = 0

    init(selected: UInt64 = 0, fallback: UInt64 = 0, missed: UInt64 = 0, left: UInt64 = 0) {
        (self.selected, self.fallback, self.missed, self.left) = (selected, fallback, missed, left)
    }

    init(_ group: borrowing ReusePortGroup) throws {
        for slot in 0..<(try group.info().capacity) {
            let row = try group.counters(slot: slot)
            selected += row.selected
            fallback += row.fallback
            missed += row.missed
        }
        left = try group.leftToKernel()
    }
}

/// What the kernel program should choose, from the tables of the other planes.
struct Prediction {
    let table: SlotTable
    let seed: UInt64

    init(count: Int, seed: UInt64 = 0) {
        let members = (0..<count).map { slot in
            Downstream(
                name: "\(slot)", endpoint: Endpoint(IPAddress(v4: UInt32(slot)), port: 0))
        }
        table = Balance.sourceIP.slotTable(for: members, capacity: count)
        self.seed = seed
    }

    func slot(of source: IPAddress) -> Int? {
        table.owner(of: FlowKey.sourceIP(source, seed: seed))
    }
}
