// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import ReusePortLB
import Testing
import Tiers

/// The built executable and the real program, tested from outside. The tests run one at a time: several load the
/// machine and count every datagram.
@Suite(
    "The collector", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: loading kernel programs needs root"))
enum CollectorTests {}

/// A collector as its user sees it: a process, its output and its exit code.
struct CollectorUnderTest: Sendable {
    /// The command, and the folder of the executable when that is a copy.
    struct Program: Sendable {
        var words: [String]
        var folder: ScratchFolder?

        static let own = Program(words: [Files.product("collector")])

        /// The collector as user 65534, without capabilities and without a way to get any, from a folder that any
        /// user may search.
        static func asNobody() throws -> Program {
            let folder = try ScratchFolder()
            let copy = folder.path("collector")
            try FileManager.default.copyItem(atPath: own.words[0], toPath: copy)
            chmod(copy, 0o755)
            let setpriv = [
                "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
                "--bounding-set=-all", "--inh-caps=-all",
            ]
            return Program(words: setpriv + [copy], folder: folder)
        }
    }

    let process: ChildProcess
    var output: [String] { process.record.state.output }
    var errors: [String] { process.record.state.errors }

    /// - Parameter output: nil to collect it.
    init(_ words: [String], output: Int32? = nil, program: Program = .own) throws {
        process = try ChildProcess(
            program.words[0], program.words.dropFirst() + words,
            output: output.map { .inherited($0) } ?? .collected, folder: program.folder)
    }

    /// Starts a collector in a slot and waits until it has joined.
    static func inSlot(
        _ slot: Int, of count: Int, at endpoint: Endpoint, _ flags: [String],
        output: Int32? = nil, program: Program = .own
    ) async throws -> CollectorUnderTest {
        let words = ["\(endpoint.address)", "\(endpoint.port)", "\(slot)", "\(count)"]
        let collector = try CollectorUnderTest(words + flags, output: output, program: program)
        try await collector.isInSlot()
        return collector
    }

    func isInSlot() async throws {
        try await process.record.wait("it is in its slot") { state in
            state.errors.contains { $0.contains("Ctrl+C ends it") } ? true : nil
        }
    }

    /// Waits for this many lines of output.
    @discardableResult
    func prints(_ count: Int) async throws -> [String] {
        try await process.record.wait("\(count) lines") { state in
            state.output.count >= count ? state.output : nil
        }
    }

    /// Ends it in order and returns its output.
    @discardableResult
    func stop(
        _ signal: Int32 = SIGTERM, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [String] {
        process.send(signal)
        let ending = try await process.exit()
        #expect(ending == .exited(0), "\(errors)", sourceLocation: sourceLocation)
        return output
    }

    /// Runs the executable to its end.
    static func run(
        _ words: [String], program: Program = .own
    ) async throws -> (code: Int32, output: [String], errors: [String]) {
        let process = try CollectorUnderTest(words, program: program).process
        guard case .exited(let code) = try await process.exit() else {
            throw Failed("a signal ended it", EPROTO)
        }
        let state = process.record.state
        return (code, state.output, state.errors)
    }
}

/// The last line of `--json`.
struct EndReport: Decodable, Equatable {
    let event: String
    let received: Int
    let bytes: Int
    let truncated: Int
    let sources: Int
    let kernel_drops: Int
    let selected: Int
    let fallback: Int
    let missed: Int

    init(_ line: String?) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(try #require(line).utf8))
        #expect(event == "end" || event == "stats")
    }
}

/// The output of `collector status --json`.
struct StatusReport: Decodable {
    struct Group: Decodable {
        let name: String
        let error: String?
        let address: String?
        let key: String?
        let seed: UInt64?
        let count: Int?
        let left_to_kernel: Int?
        let slots: [Slot]?
    }
    struct Slot: Decodable {
        let slot: Int
        let selected: Int
        let fallback: Int
        let missed: Int
        let members: [Member]
    }
    struct Member: Decodable {
        let transport: String
        let pid: Int32?
        let uid: UInt32?
        let joined_ns: UInt64?
        let cookie: UInt64
        let generation: UInt64?
        let previous: Bool
    }
    let groups: [Group]

    init(
        _ pins: BPFFileSystem, program: CollectorUnderTest.Program = .own
    ) async throws {
        let run = try await CollectorUnderTest.run(
            ["status", "--json", "--pin-root", pins.path], program: program)
        #expect(run.code == 0 && run.output.count == 1, "\(run.errors)")
        self = try JSONDecoder().decode(Self.self, from: Data(run.output.joined().utf8))
    }
}
