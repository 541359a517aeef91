// SPDX-License-Identifier: Apache-2.0

@testable import BPFRuntime
import CLibBPF
import KernelPrograms
import LabNet
import Testing
import Tiers

@Suite("Every kernel program", .tags(.network), .loadsPrograms)
struct LoadTests {
    /// The oldest kernel that accepts an object unmodified, for the objects that need a minimum (docs/kernels.md).
    private static let oldest: [String: KernelRelease] = [
        "reuseport_select": .takesMigration, "tc_fanout": .takesFanout, "xdp_nat": .takesNAT,
        "xdp_steer": .takesFrags,
    ]

    @Test(
        "loads on the documented Linux and later, and not on an older one",
        arguments: EmbeddedObjectTests.names)
    func loads(name: String) throws {
        var object = try open(name)
        let oldest = Self.oldest[name] ?? KernelRelease(5, 6)
        guard KernelRelease.running >= oldest else {
            let error = try #require(throws: BPFError.self, "\(name) needs Linux \(oldest)") {
                try object.load()
            }
            #expect(error.operation == "load" && error.subject == name)
            return
        }
        try object.load()
        #expect(!object.programNames.isEmpty)
        for program in object.programNames {
            #expect(try object.program(named: program).descriptor >= 0, "\(program)")
        }
    }

    @Test("without its program for migrating connections, reuseport_select loads on all of them")
    func withoutMigration() throws {
        var object = try open("reuseport_select")
        let migrating = bpf_object__find_program_by_name(object.handle, "lb_migrate")
        try #require(bpf_program__set_autoload(migrating, false) == 0)
        try object.load()
        #expect(try object.program(named: "lb_select").descriptor >= 0)
    }

    private func open(_ name: String) throws -> BPFObject {
        let embedded = EmbeddedObject.all.first { $0.name.description == name }
        return try BPFObject(opening: try #require(embedded))
    }
}
