// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing

extension CollectorTests {
    @Suite("Programs that are adopted")
    struct AdoptTests {}
}

extension CollectorTests.AdoptTests {
    /// A program that knows nothing of groups; it prints the source address of each datagram.
    private static func stranger(at endpoint: Endpoint, sharing: Bool = true) async throws
        -> ChildProcess
    {
        let program = """
            import socket
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, \(sharing ? 1 : 0))
            s.bind(("\(endpoint.address)", \(endpoint.port)))
            print("bound", flush=True)
            while True:
                print(s.recvfrom(64)[1][0], flush=True)
            """
        let process = try ChildProcess("python3", ["-c", program])
        try await process.record.wait("it has bound its socket") { state in
            state.output.contains("bound") ? true : nil
        }
        return process
    }

    private static func adopt(
        _ process: ChildProcess, _ slot: Int, _ endpoint: Endpoint, _ pins: BPFFileSystem,
        _ more: [String] = []
    ) async throws -> (code: Int32, output: [String], errors: [String]) {
        try await CollectorUnderTest.run(
            [
                "adopt", "--group", "strangers", "--count", "3", "--slot", "\(slot)", "--pid",
                "\(process.pid)", "--pin-root", pins.path,
            ] + more)
    }

    @Test("each source stays with one of three unchanged programs, and returns after a restart")
    func unchanged() async throws {
        let pins = try BPFFileSystem()
        let endpoint = try Endpoint.free()
        var programs: [ChildProcess] = []
        for slot in 0..<3 {
            programs.append(try await Self.stranger(at: endpoint))
            let run = try await Self.adopt(
                programs[slot], slot, endpoint, pins, ["--port", "\(endpoint.port)"])
            #expect(run.code == 0, "\(run.errors)")
        }
        let sources = (1...48 as ClosedRange<UInt32>).map { IPAddress.loopback($0) }
        /// Sends from every source, and returns the program that got it.
        func homes() async throws -> [String: Int] {
            let before = programs.map { $0.record.state.output.count }
            for source in sources { try Traffic(to: endpoint, from: source).send([1]) }
            try await eventually("all have arrived") {
                zip(programs, before).reduce(0) { $0 + $1.0.record.state.output.count - $1.1 }
                    == sources.count
            }
            var homes: [String: Int] = [:]
            for (slot, program) in programs.enumerated() {
                for line in program.record.state.output.dropFirst(before[slot]) {
                    homes[line] = slot
                }
            }
            return homes
        }
        let first = try await homes()
        #expect(first.count == sources.count && Set(first.values) == [0, 1, 2])
        let again = try await homes()
        #expect(again == first)
        for (source, slot) in first {
            let why = try await CollectorUnderTest.run(
                ["explain", "strangers", source, "--pin-root", pins.path])
            #expect(
                why.code == 0
                    && why.output.first == "\(source): slot \(slot) of 3, by source_ip and seed 0"
                    && why.output.last?.contains("process \(programs[slot].pid)") == true, "\(why)")
        }

        programs[1].send(SIGKILL)
        _ = try await programs[1].exit()
        let orphan = try #require(first.first { $0.value == 1 }).key
        let fallback = try await CollectorUnderTest.run(
            ["explain", "strangers", orphan, "--pin-root", pins.path])
        #expect(fallback.output.last?.hasPrefix("its member is missing; the fallback is") == true)
        programs[1] = try await Self.stranger(at: endpoint)
        let run = try await Self.adopt(programs[1], 1, endpoint, pins)
        #expect(run.code == 0, "\(run.errors)")
        let returned = try await homes()
        #expect(returned == first)
        for program in programs { program.send(SIGKILL) }
    }

    @Test("explain names the slot of a payload, and asks for one if the group needs it")
    func explainPayload() async throws {
        let pins = try BPFFileSystem()
        for words in [
            "create ipfix --count 4 --key payload --payload-key ipfix_domain",
            "create quic --count 4 --key payload --payload-key quic_server_id,offset=1,length=4",
        ] {
            let made = try await CollectorUnderTest.run(
                words.split(separator: " ").map(String.init) + ["--pin-root", pins.path])
            #expect(made.code == 0, "\(made)")
        }
        func explain(_ words: String) async throws -> (code: Int32, lines: [String]) {
            let run = try await CollectorUnderTest.run(
                words.split(separator: " ").map(String.init) + ["--pin-root", pins.path])
            return (run.code, run.output + run.errors)
        }
        let one = try await explain("explain quic 192.0.2.7 --payload 40a0a1a2a3a4a5a6")
        let other = try await explain("explain quic 192.0.2.8 --payload 40a0a1a2a3a4ffff")
        #expect(one.code == 0 && other.code == 0)
        let (first, second) = (try #require(one.lines.first), try #require(other.lines.first))
        #expect(first.hasSuffix("by payload (quic_server_id,offset=1,length=4) and seed 0"))
        #expect(first.dropFirst("192.0.2.7".count) == second.dropFirst("192.0.2.8".count))
        let none = try await explain("explain ipfix 192.0.2.7")
        #expect(none.code == 1 && none.lines.contains { $0.contains("ENODATA") }, "\(none)")
        let short = try await explain("explain quic 192.0.2.7 --payload 40")
        #expect(short.code == 1 && short.lines.contains { $0.contains("EDESTADDRREQ") }, "\(short)")
        #expect(try await explain("explain ipfix 192.0.2.7 --payload 00").code == 0)
        #expect(try await explain("status quic").lines[0].contains("payload (quic_server_id"))
    }

    @Test("a refusal names the reason and the remedy")
    func refused() async throws {
        let pins = try BPFFileSystem()
        let endpoint = try Endpoint.free()
        let alone = try await Self.stranger(at: endpoint, sharing: false)
        let none = try await Self.adopt(alone, 0, endpoint, pins)
        #expect(none.code == 1 && none.errors.joined().contains("no bound UDP socket"), "\(none)")
        let exclusive = try await Self.adopt(
            alone, 0, endpoint, pins, ["--port", "\(endpoint.port)"])
        #expect(exclusive.errors.joined().contains("without SO_REUSEPORT"), "\(exclusive)")
        alone.send(SIGKILL)
        _ = try await alone.exit()
        let gone = try await Self.adopt(alone, 0, endpoint, pins)
        #expect(gone.code == 1 && gone.errors.joined().contains("no such process"), "\(gone)")
        for words in [["--slot", "0"], ["--slot", "0", "--fd", "3", "--port", "1"]] {
            let usage = try await CollectorUnderTest.run(["adopt", "--group", "g"] + words)
            #expect(usage.code == 2, "\(usage)")
        }
    }
}
