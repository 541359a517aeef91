// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import Foundation
import Glibc
import LabNet
import LinuxNet
import Testing
import Tiers

@Suite("The path of the control socket", .tags(.network))
struct PathTests {
    @Test("that a daemon has is refused to a second one, which is told who has it")
    func taken() throws {
        let first = try ServerFixture()
        defer { first.server.stop() }
        let error = #expect(throws: ControlSocketError.self) {
            try ServerFixture(folder: first.folder)
        }
        #expect(error?.refusal == .taken(pid: getpid()))
        #expect(error.map { "\($0)".contains("a running daemon uses it") } == true)
        #expect(try ControlClient(path: first.path).ask(ControlRequest(.reload)).ok)
    }

    @Test("that a killed daemon left is taken over")
    func stale() throws {
        let folder = try ScratchFolder()
        // The file of a listener that is closed without being removed.
        var abandoned: UnixListener? = try UnixListener(path: folder.path("control.sock"))
        #expect(abandoned != nil)
        abandoned = nil
        #expect(ServerFixture.mode(of: folder.path("control.sock")) != nil)
        let fixture = try ServerFixture(folder: folder)
        defer { fixture.server.stop() }
        #expect(try ControlClient(path: fixture.path).ask(ControlRequest(.reload)).ok)
    }

    @Test("that is a file of another kind is left alone")
    func otherFile() throws {
        let folder = try ScratchFolder()
        try folder.write("precious", to: "control.sock")
        let error = #expect(throws: ControlSocketError.self) {
            try ServerFixture(folder: folder)
        }
        #expect(error?.refusal == .notASocket)
        #expect(
            try String(contentsOfFile: folder.path("control.sock"), encoding: .utf8) == "precious")
    }

    @Test("is gone after the end, and a successor's is not")
    func end() throws {
        let first = try ServerFixture()
        let second = try ServerFixture(folder: first.folder, takingOver: true) { _ in
            .failure(ControlFailure("second", remedy: ""))
        }
        first.server.stop()
        let answer = try ControlClient(path: second.path).ask(ControlRequest(.reload))
        #expect(answer.error?.message == "second")
        second.server.stop()
        #expect(ServerFixture.mode(of: second.path) == nil)
    }

    @Test("without a daemon behind it is a clear error for a client")
    func noDaemon() throws {
        let path = try ScratchFolder().path("control.sock")
        let error = #expect(throws: ControlFailure.self) { try ControlClient(path: path) }
        #expect(error?.message == "no daemon listens at \(path)")
        #expect(error?.remedy.contains("--socket") == true)
    }

    @Test("has its folder made, if only that is missing")
    func folder() throws {
        let folder = try ScratchFolder()
        let path = folder.path("below/control.sock")
        let listener = try UnixListener(path: path)
        #expect(ServerFixture.mode(of: path) != nil)
        listener.end()
    }

    /// A lock on a file or folder, as another process would have it.
    private static func locked(_ path: String, flags: Int32) throws -> Int32 {
        let descriptor = open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw Failed("flock \(path)")
        }
        return descriptor
    }

    @Test("is free to a daemon while another process has locked the folder")
    func lockedFolder() throws {
        let folder = try ScratchFolder()
        let lock = try Self.locked(folder.url.path, flags: O_RDONLY | O_DIRECTORY)
        defer { close(lock) }
        let fixture = try ServerFixture(folder: folder)
        defer { fixture.server.stop() }
        #expect(try ControlClient(path: fixture.path).ask(ControlRequest(.reload)).ok)
        #expect(ServerFixture.mode(of: fixture.path + ".lock") == S_IFREG | 0o600)
    }

    @Test("whose lock another process of the same user keeps is refused, and the process is named")
    func lockHeld() throws {
        let folder = try ScratchFolder()
        let lock = try Self.locked(folder.path("control.sock.lock"), flags: O_RDWR | O_CREAT)
        defer { close(lock) }
        #expect(write(lock, "4711\n", 5) == 5)
        let error = #expect(throws: ControlSocketError.self) {
            try ServerFixture(folder: folder)
        }
        #expect(error?.refusal == .locked(file: folder.path("control.sock.lock"), pid: 4711))
        #expect(error.map { "\($0)".contains("(process 4711)") } == true)
    }

    @Test(
        "whose lock is a link, a pipe or another user's is replaced",
        arguments: ["link", "pipe", "user"])
    func foreignLock(kind: String) throws {
        let folder = try ScratchFolder()
        let path = folder.path("control.sock.lock")
        switch kind {
        case "link": #expect(symlink(try folder.write("precious", to: "other"), path) == 0)
        case "pipe": #expect(mkfifo(path, 0o600) == 0)
        default:
            guard Privilege.isRoot else { return }
            _ = try folder.write("", to: "control.sock.lock")
            #expect(chown(path, 12345, 12345) == 0)
        }
        let fixture = try ServerFixture(folder: folder)
        defer { fixture.server.stop() }
        #expect(ServerFixture.mode(of: path) == S_IFREG | 0o600)
        if kind == "link" {
            #expect(try String(contentsOfFile: folder.path("other"), encoding: .utf8) == "precious")
        }
    }

    @Test("behind which a daemon is stopped holds up neither a client nor a second daemon")
    func stopped() throws {
        let folder = try ScratchFolder()
        let path = folder.path("control.sock")
        // Nothing accepts its connections.
        let listener = try UnixListener(path: path)
        defer { listener.end() }
        let silent = #expect(throws: ControlFailure.self) {
            try ControlClient(path: path).ask(ControlRequest(.status))
        }
        #expect(silent?.isTimeout == true)
        #expect(silent?.message == "the daemon at \(path) does not answer")
        let second = #expect(throws: ControlSocketError.self) { try ServerFixture(folder: folder) }
        #expect(second?.refusal == .taken(pid: getpid()))

        var waiting: [UnixStream] = []
        let full = #expect(throws: SystemError.self) {
            while true { waiting.append(try UnixStream(connectingTo: path)) }
        }
        #expect(full?.code == EAGAIN)
        let client = #expect(throws: ControlFailure.self) { try ControlClient(path: path) }
        #expect(client?.isTimeout == true)
        let third = #expect(throws: ControlSocketError.self) { try ServerFixture(folder: folder) }
        #expect(third?.refusal == .taken(pid: nil))
    }
}
