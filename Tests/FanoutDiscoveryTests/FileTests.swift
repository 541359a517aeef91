// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Glibc
import LabNet
import LinuxNet
import Synchronization
import Testing

@testable import FanoutDiscovery

extension DiscoveryTests {
    @Suite("Receivers in a file")
    struct FileTests {}
}

extension DiscoveryTests.FileTests {
    private func read(_ text: String, port: UInt16? = 9000) throws -> [String] {
        try ReceiverList(text, port: port).endpoints.map(\.description)
    }

    @Test("a plain list: addresses with and without ports, comments, blanks, repetitions")
    func plain() throws {
        let text = """
            # receivers
            10.0.0.1
              10.0.0.2:9001 ; the second

            [fd00::1]:9002
            fd00::2\r
            10.0.0.1:9000
            """
        #expect(
            try read(text) == [
                "10.0.0.1:9000", "10.0.0.2:9001", "[fd00::1]:9002", "[fd00::2]:9000",
            ])
        #expect(try read("# none\n") == [])
    }

    @Test("an INI file: the lines below [Real Servers], whatever else there is")
    func ini() throws {
        let text = """
            [General]
            name = x
            [Real Servers]
            10.0.0.1
            [fd00::1]:9002
            [Other]
            10.0.0.9
            [real servers]
            10.0.0.2
            """
        #expect(try read(text) == ["10.0.0.1:9000", "[fd00::1]:9002", "10.0.0.2:9000"])
        #expect(try read("[Real Servers]\n") == [])
    }

    static let mistakes: [(String, Int, String)] = [
        ("10.0.0.1\n10.0.0\n", 2, "'10.0.0' is no receiver"),
        ("a.example\n", 1, "'a.example' is no receiver"),
        ("10.0.0.1:0", 1, "'10.0.0.1:0' is no receiver"),
        ("\n0.0.0.0", 2, "0.0.0.0 is not the address of one receiver"),
        ("224.0.0.1", 1, "224.0.0.1 is not the address of one receiver"),
        ("[Servers]\n10.0.0.1", 1, "there is no section [Real Servers]"),
    ]

    @Test("a mistake names its line", arguments: mistakes)
    func mistake(text: String, line: Int, what: String) {
        let error = #expect(throws: ReceiverList.Malformed.self) { try read(text) }
        #expect(error?.line == line && error?.what.hasPrefix(what) == true, "\(error as Any)")
    }

    @Test(
        "a strict reader needs the section, and each receiver once",
        arguments: [("10.0.0.1", 1), ("[Real Servers]\n10.0.0.1\n10.0.0.1:9", 3)])
    func strict(text: String, line: Int) throws {
        let error = #expect(throws: ReceiverList.Malformed.self) {
            try ReceiverList(text, port: 9, isStrict: true)
        }
        #expect(error?.line == line)
        #expect(try ReceiverList("[Real Servers]", port: 9, isStrict: true).endpoints.isEmpty)
    }

    @Test("without a port of the whole file each receiver needs its own")
    func port() throws {
        #expect(try read("10.0.0.1:1", port: nil) == ["10.0.0.1:1"])
        #expect(throws: ReceiverList.Malformed.self) { try read("10.0.0.1", port: nil) }
    }

    @Test("a file that is wrong, empty, gone or unreadable is told of; the set before stays")
    func trouble() async throws {
        let folder = try ScratchFolder()
        let log = LogRecorder()
        try folder.write("10.0.0.1\n", to: "r")
        let follower = Follower(
            FileSource(
                path: folder.path("r"), port: 9000, interval: .milliseconds(5),
                logger: log.logger))
        try await follower.shows("10.0.0.1")
        try folder.replace("r", with: "")
        try await follower.counts(error: "empty")
        try folder.replace("r", with: "nonsense")
        try await follower.counts(error: "malformed")
        _ = try Shell.output("rm \(folder.path("r"))")
        _ = try Shell.output("mkdir \(folder.path("r"))")
        try await follower.counts(error: "EISDIR")
        #expect(follower.sets.count == 1)
        _ = try Shell.output("rmdir \(folder.path("r"))")
        try folder.replace("r", with: "10.0.0.2\n")
        try await follower.shows("10.0.0.2")
        #expect(follower.sets.count == 2)
        try await eventually("the log names the line") {
            log.lines.contains {
                $0.fields["error"]?.contains("line 1") == true && $0.level == .warning
                    && $0.fields["path"] == folder.path("r")
            }
        }
    }

    @Test(
        "a file that stays as it is is confirmed at each look; one that vanishes is not, and is told of once"
    )
    func confirmed() async throws {
        let folder = try ScratchFolder()
        let log = LogRecorder()
        try folder.write("10.0.0.1\n", to: "r")
        let source = FileSource(
            path: folder.path("r"), port: 9000, interval: .milliseconds(5), logger: log.logger)
        let follower = Follower(source)
        try await follower.shows("10.0.0.1")
        try await Task.sleep(for: .milliseconds(300))
        try await eventually("it is confirmed") { source.status.syncAge < .milliseconds(200) }
        _ = try Shell.output("mv \(folder.path("r")) \(folder.path("away"))")
        try await follower.counts(error: "ENOENT")
        try await eventually("it is not confirmed") { source.status.syncAge > .milliseconds(300) }
        #expect(source.status.errors == ["ENOENT": 1])
        #expect(follower.sets.count == 1, "the receivers before stay")
        _ = try Shell.output("mv \(folder.path("away")) \(folder.path("r"))")
        try await eventually("it is confirmed again") {
            source.status.syncAge < .milliseconds(200)
        }
    }

    @Test("a change that could not be dealt with is reported again, one that was is not")
    func reportedAgain() async throws {
        let folder = try ScratchFolder()
        let path = try folder.write("a", to: "f")
        let calls = Mutex(0)
        let task = Task {
            let watch = FileWatch(path: path, interval: .milliseconds(10))
            await watch.run(since: nil) {
                calls.withLock {
                    $0 += 1; return $0 == 3
                }
            }
        }
        defer { task.cancel() }
        try await eventually("it is dealt with") { calls.withLock { $0 } == 3 }
        try await Task.sleep(for: .milliseconds(100))
        #expect(calls.withLock { $0 } == 3)
    }

    @Test("what may pass is tried again, and what is wrong with the file is not")
    func passing() {
        func unreadable(_ code: Int32) -> ReceiverFile.Unusable {
            .unreadable(SystemError("open", code: code))
        }
        for code in [EMFILE, ENFILE, EIO, ENOMEM, ESTALE] { #expect(unreadable(code).mayPass) }
        for code in [ENOENT, EACCES, EFBIG] { #expect(!unreadable(code).mayPass) }
        #expect(!ReceiverFile.Unusable.empty.mayPass)
    }

    @Test("a failure is news when it is another, or the first since something was confirmed")
    func news() {
        let tally = SourceTally()
        #expect(tally.error("a"))
        #expect(!tally.error("a"))
        #expect(tally.error("b"))
        tally.confirm()
        #expect(tally.error("b"))
        #expect(tally.status.errors == ["a": 2, "b": 2])
    }
}
