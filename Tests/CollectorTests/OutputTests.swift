// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing

extension CollectorTests {
    @Suite("Output")
    struct OutputTests {}
}

extension CollectorTests.OutputTests {
    /// A single collector that has received these datagrams, and their sender.
    private static func showing(
        _ payloads: [[UInt8]], _ flags: [String], on address: IPAddress = .loopback
    ) async throws -> (lines: [String], sender: Endpoint, errors: [String]) {
        let pins = try BPFFileSystem()
        let endpoint = try Endpoint.free(on: address)
        let collector = try await CollectorUnderTest.inSlot(
            0, of: 1, at: endpoint, ["--pin-root", pins.path] + flags)
        let sender = try Traffic(to: endpoint)
        for payload in payloads { sender.send(payload) }
        if !flags.contains("--quiet") { try await collector.prints(payloads.count) }
        let lines = try await collector.stop(SIGINT)
        return (lines, sender.source, collector.errors)
    }

    @Test(
        "a line a datagram: its source, and its text or first bytes; no terminal codes pass")
    func lines() async throws {
        let binary = (0..<40).map { UInt8($0) }
        let payloads: [[UInt8]] = [
            Array("Hello World 1!".utf8), Array("two\nlines\tand \\ it\r\n".utf8),
            Array("<14>a red \u{1b}[31m word, \u{202e}turned\u{7f}\u{9b}2J".utf8), binary,
            [0xff, 0xfe], [], Array("Zürich 東京".utf8), [UInt8](repeating: 65, count: 3000),
        ]
        let (lines, sender, errors) = try await Self.showing(payloads, [])
        #expect(
            lines.dropLast() == [
                "\(sender) Hello World 1!",
                "\(sender) two\\nlines\\tand \\\\ it\\r\\n",
                "\(sender) <14>a red \\u{1b}[31m word, \\u{202e}turned\\u{7f}\\u{9b}2J",
                "\(sender) 40 bytes: 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13 14 "
                    + "15 16 17 18 19 1a 1b 1c 1d 1e 1f ...",
                "\(sender) 2 bytes: ff fe",
                "\(sender) 0 bytes",
                "\(sender) Zürich 東京",
                "\(sender) " + String(repeating: "A", count: 1024) + "... (3000 bytes)",
            ])
        let total = payloads.map(\.count).reduce(0, +)
        #expect(
            lines.last
                == "collector ended: received 8  bytes \(total)  sources 1  dropped by kernel 0  "
                + "selected 8  fallback 0  missed 0")
        #expect(errors.count == 1)
    }

    @Test("an IPv6 source is in brackets")
    func v6() async throws {
        let (lines, sender, _) = try await Self.showing([[65]], [], on: .loopback6)
        #expect(lines.first == "[::1]:\(sender.port) A")
    }

    @Test("--json: every line is an object; truncated datagrams are marked and counted")
    func json() async throws {
        struct Line: Decodable, Equatable {
            let event: String
            let source: String
            let port: UInt16
            let bytes: Int
            let truncated: Bool
            var text: String?
            var hex: String?
        }
        let (lines, sender, _) = try await Self.showing(
            [
                Array("a\u{1b}\"\\\u{1F600}\u{e0001}".utf8), [0, 255],
                [UInt8](repeating: 66, count: 99),
            ],
            ["--json", "--max-bytes", "64"])
        let read = try lines.dropLast().map {
            try JSONDecoder().decode(Line.self, from: Data($0.utf8))
        }
        func line(_ bytes: Int, cut: Bool = false, text: String? = nil, hex: String? = nil) -> Line
        {
            Line(
                event: "datagram", source: "127.0.0.1", port: sender.port, bytes: bytes,
                truncated: cut, text: text, hex: hex)
        }
        #expect(
            read == [
                line(12, text: "a\u{1b}\"\\\u{1F600}\u{e0001}"), line(2, hex: "00ff"),
                line(99, cut: true, text: String(repeating: "B", count: 64)),
            ])
        #expect(!lines.joined().contains("\u{1b}"))
        let end = try EndReport(lines.last)
        #expect(end.received == 3 && end.bytes == 113 && end.truncated == 1 && end.sources == 1)
        #expect(end.selected == 3 && end.kernel_drops == 0)
    }

    @Test("--quiet in a pipe prints the report alone")
    func quiet() async throws {
        let pins = try BPFFileSystem()
        let endpoint = try Endpoint.free()
        let collector = try await CollectorUnderTest.inSlot(
            0, of: 1, at: endpoint, ["--pin-root", pins.path, "--quiet", "--count", "3"])
        let sender = try Traffic(to: endpoint)
        for _ in 0..<5 { sender.send([1]) }
        // --count ends it at the third of the five.
        #expect(try await collector.process.exit() == .exited(0))
        #expect(
            collector.output == [
                "collector ended: received 3  bytes 3  sources 1  dropped by kernel 0  selected 5  "
                    + "fallback 0  missed 0"
            ])
    }

    @Test("--stats-interval prints the counts repeatedly, with --json as objects")
    func stats() async throws {
        let pins = try BPFFileSystem()
        let endpoint = try Endpoint.free()
        let flags = ["--pin-root", pins.path, "--quiet", "--stats-interval", "0.05"]
        let plain = try await CollectorUnderTest.inSlot(0, of: 2, at: endpoint, flags)
        let json = try await CollectorUnderTest.inSlot(1, of: 2, at: endpoint, flags + ["--json"])
        for number in 1...40 as ClosedRange<UInt32> {
            try Traffic(to: endpoint, from: .loopback(number)).send([1])
        }
        try await plain.process.record.wait("a line with its counts") { state in
            state.output.contains { $0.wholeMatch(of: /received [1-9]\d*  .*missed 0/) != nil }
                ? true : nil
        }
        try await json.prints(3)
        _ = try await plain.stop()
        let lines = try await json.stop()
        #expect(try EndReport(lines.first).event == "stats")
        let end = try EndReport(lines.last)
        #expect(end.event == "end" && end.received == end.sources && end.selected == end.received)
        let other = try #require(plain.output.last?.firstMatch(of: /received (\d+)/)?.output.1)
        #expect(end.received + (Int(other) ?? 0) == 40)
    }

    /// Both sides of a terminal (pts(4), ioctl_tty(2)).
    private static func pseudoTerminal() throws -> (master: Int32, line: Int32) {
        let master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var number: Int32 = 0
        let (unlock, askNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)  // TIOCSPTLCK, TIOCGPTN
        guard master >= 0, ioctl(master, unlock, &number) == 0,
            ioctl(master, askNumber, &number) == 0
        else { throw Failed("open a terminal") }
        let line = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard line >= 0 else { throw Failed("open /dev/pts/\(number)") }
        return (master, line)
    }

    @Test("--quiet on a terminal keeps one line up to date")
    func terminal() async throws {
        let (terminal, line) = try Self.pseudoTerminal()
        defer { close(terminal) }
        let pins = try BPFFileSystem()
        let endpoint = try Endpoint.free()
        let collector = try await CollectorUnderTest.inSlot(
            0, of: 1, at: endpoint, ["--pin-root", pins.path, "--quiet"], output: line)
        close(line)
        try Traffic(to: endpoint).send([1, 2])
        let shown = try await offPool {
            var text = ""
            var chunk = [UInt8](repeating: 0, count: 4096)
            while !text.contains("\rreceived 1  bytes 2") {
                let count = read(terminal, &chunk, chunk.count)
                guard count > 0 else { throw Failed("read the terminal") }
                text += String(decoding: chunk[..<count], as: UTF8.self)
            }
            return text
        }
        #expect(!shown.contains("\n"))
        #expect(shown.contains("\u{1b}[K"))
        collector.process.send(SIGINT)
        #expect(try await collector.process.exit() == .exited(0))
        var end = ""
        var chunk = [UInt8](repeating: 0, count: 4096)
        // Its side of the terminal is closed, so EIO follows its output (pty(7)).
        while case let count = read(terminal, &chunk, chunk.count), count > 0 {
            end += String(decoding: chunk[..<count], as: UTF8.self)
        }
        #expect(end.contains("collector ended: received 1  bytes 2"), "\(end)")
    }

    @Test("its counts begin at its start, also those of the slot")
    func since() async throws {
        let pins = try BPFFileSystem()
        let endpoint = try Endpoint.free()
        for datagrams in [3, 1] {
            let collector = try await CollectorUnderTest.inSlot(
                0, of: 1, at: endpoint, ["--pin-root", pins.path, "--quiet", "--json"])
            let sender = try Traffic(to: endpoint)
            for _ in 0..<datagrams { sender.send([1]) }
            let end = try EndReport(try await collector.stop().last)
            #expect(end.received == datagrams && end.selected == datagrams)
        }
        let slot = try await StatusReport(pins).groups.first?.slots?.first
        #expect(slot?.selected == 4)
    }

    @Test("it ends when no process reads its lines any more")
    func unread() async throws {
        let pins = try BPFFileSystem()
        let endpoint = try Endpoint.free()
        let collector = try await CollectorUnderTest.inSlot(
            0, of: 1, at: endpoint, ["--pin-root", pins.path])
        collector.process.record.hangUp(1)
        try Traffic(to: endpoint).send([65])
        #expect(try await collector.process.exit() == .exited(0))
    }

    @Test("when stopped, it first leaves its slot and then reads its queue")
    func draining() async throws {
        let pins = try BPFFileSystem()
        let endpoint = try Endpoint.free()
        let flags = ["--pin-root", pins.path, "--quiet", "--json"]
        let first = try await CollectorUnderTest.inSlot(0, of: 2, at: endpoint, flags)
        let second = try await CollectorUnderTest.inSlot(1, of: 2, at: endpoint, flags)
        // Both are stopped while the datagrams arrive, so that all of them wait in the queues.
        for collector in [first, second] { collector.process.send(SIGSTOP) }
        for number in 1...200 as ClosedRange<UInt32> {
            try Traffic(to: endpoint, from: .loopback(number)).send([1])
        }
        for collector in [first, second] {
            collector.process.send(SIGTERM)
            collector.process.send(SIGCONT)
        }
        var sum = 0
        for collector in [first, second] {
            #expect(try await collector.process.exit() == .exited(0))
            sum += try EndReport(collector.output.last).received
        }
        #expect(sum == 200)
        #expect(
            try await StatusReport(pins).groups.first?.slots?.flatMap(\.members).isEmpty == true)
    }

    @Test("the last member of a group under load ends within its two seconds of draining")
    func lastUnderLoad() async throws {
        let pins = try BPFFileSystem()
        let endpoint = try Endpoint.free()
        let collector = try await CollectorUnderTest.inSlot(
            0, of: 1, at: endpoint, ["--pin-root", pins.path, "--quiet"])
        let load = try Load([Traffic(to: endpoint)], rate: 20_000)
        try await eventually("it is under load") { load.sent > 1000 }
        collector.process.send(SIGTERM)
        #expect(try await collector.process.exit() == .exited(0))
        _ = await load.stop()
    }

    @Test("datagrams that the kernel dropped at a full buffer are reported")
    func drops() async throws {
        let pins = try BPFFileSystem()
        let endpoint = try Endpoint.free()
        let collector = try await CollectorUnderTest.inSlot(
            0, of: 1, at: endpoint,
            ["--pin-root", pins.path, "--quiet", "--json", "--recv-buffer", "8192"])
        collector.process.send(SIGSTOP)
        let sender = try Traffic(to: endpoint)
        for _ in 0..<500 { sender.send([UInt8](repeating: 1, count: 100)) }
        collector.process.send(SIGCONT)
        let end = try EndReport(try await collector.stop().last)
        #expect(end.kernel_drops > 0 && end.received + end.kernel_drops == 500)
        #expect(end.selected == 500)
    }
}
