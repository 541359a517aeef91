// SPDX-License-Identifier: Apache-2.0

import BPFRuntime
import CDatapath
import FanoutCore
import GoldenVectors
import Foundation
import Testing
import Tiers

/// The kernel's flow keys against Swift's and against the contract between the modes.
@Suite("Flow keys in the kernel", .tags(.network), .loadsPrograms)
struct FlowKeyProgramTests {
    /// The program of flow_key.bpf.c, loaded under a seed.
    private func program(seed: UInt64, _ name: String = "lb_flow_key") throws -> BPFProgram {
        var object = try BPFObject(opening: .flowKey)
        try object.set("lb_seed", to: seed)
        try object.load()
        return try object.program(named: name)
    }

    private func bytes(from source: Endpoint, to destination: Endpoint) -> [UInt8] {
        var flow = lb_flow()
        flow.source = source.address.datapath
        flow.destination = destination.address.datapath
        flow.source_port = source.port
        flow.destination_port = destination.port
        return withUnsafeBytes(of: flow) { Array($0) }
    }

    private func keys(_ output: [UInt8]) -> [UInt32] {
        output.withUnsafeBytes { raw in
            [
                raw.loadUnaligned(as: UInt32.self),
                raw.loadUnaligned(fromByteOffset: 4, as: UInt32.self),
            ]
        }
    }

    @Test("every golden vector has its keys", arguments: Set(GoldenVector.all.map(\.seed)).sorted())
    func goldenVectors(seed: UInt64) throws {
        let program = try program(seed: seed)
        for vector in GoldenVector.all where vector.seed == seed {
            let flow = try bytes(
                from: Endpoint(parsing: vector.source), to: Endpoint(parsing: vector.destination))
            let run = try program.testRun(data: flow)
            #expect(run.verdict == XDPVerdict.pass.rawValue)
            #expect(keys(run.output) == [vector.sourceIP, vector.fourTuple], "\(vector)")
        }
    }

    @Test(
        "10 000 random flows have Swift's keys", arguments: [0, 1, 0x5eed, UInt64.max] as [UInt64])
    func randomFlows(seed: UInt64) throws {
        let program = try program(seed: seed)
        var random = SplitMix64(seed: seed ^ 0xf10e)
        var different = 0
        for _ in 0..<10_000 {
            let source = random.endpoint()
            let destination = random.endpoint()
            let run = try program.testRun(data: bytes(from: source, to: destination))
            let swift = [
                FlowKey.sourceIP(source.address, seed: seed),
                FlowKey.fourTuple(source: source, destination: destination, seed: seed),
            ]
            if run.verdict != XDPVerdict.pass.rawValue || keys(run.output) != swift {
                different += 1
            }
        }
        #expect(different == 0)
    }

    @Test(
        "every golden payload has its key",
        arguments: Set(PayloadVector.all.map(\.seed)).sorted())
    func goldenPayloads(seed: UInt64) throws {
        let program = try program(seed: seed, "lb_payload")
        for vector in PayloadVector.all where vector.seed == seed {
            let key = try #require(PayloadKey(vector.spec)).datapath
            let packet = try bytes(
                from: Endpoint(parsing: vector.source), to: Endpoint(parsing: vector.destination))
            let payload = try #require([UInt8](hexadecimal: vector.payload))
            let run = try program.testRun(
                data: packet + withUnsafeBytes(of: key) { Array($0) } + payload)
            #expect(run.verdict == vector.key, "\(vector)")
        }
    }

    @Test("the rest of the packet is unchanged")
    func rest() throws {
        let program = try program(seed: 0)
        let packet = (0..<100).map { UInt8($0) }
        let run = try program.testRun(data: packet)
        #expect(run.output.count == packet.count)
        #expect(run.output.dropFirst(8) == packet.dropFirst(8))
        #expect(run.output.prefix(8) != packet.prefix(8))
    }

    @Test("a packet shorter than a flow is aborted and unchanged", arguments: [14, 39])
    func short(length: Int) throws {
        let packet = [UInt8](repeating: 7, count: length)
        let run = try program(seed: 0).testRun(data: packet)
        #expect(run.verdict == XDPVerdict.aborted.rawValue)
        #expect(run.output == packet)
    }

    @Test("repeated runs are timed, each on the output of the previous run")
    func repeated() throws {
        let program = try program(seed: 0)
        let packet = [UInt8](repeating: 1, count: 40)
        let once = try program.testRun(data: packet)
        let twice = try program.testRun(data: once.output)
        let run = try program.testRun(data: packet, repeat: 2)
        #expect(run.output == twice.output)
        #expect(try program.testRun(data: packet, repeat: 100_000).nanoseconds > 0)
    }

    @Test("a program outlives its object")
    func outlives() throws {
        // By the time `program(seed:)` has returned, its object is closed.
        let program = try program(seed: 0)
        let run = try program.testRun(data: [UInt8](repeating: 0, count: 40))
        #expect(run.verdict == XDPVerdict.pass.rawValue)
    }

    @Test("a program's descriptor is not inherited by child processes")
    func closeOnExec() throws {
        let program = try program(seed: 0)
        #expect(fcntl(program.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test("a released program closes its descriptor, a released object its maps and programs")
    func closed() throws {
        for _ in 0..<3 { try use() }
        let before = try openDescriptors()
        for _ in 0..<100 { try use() }
        // Other tests run at the same time, each with a few descriptors; a leak would be 300.
        #expect(try openDescriptors() < before + 100)
    }

    private func use() throws {
        #expect(try program(seed: 0).descriptor >= 0)
    }

    private func openDescriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
}
