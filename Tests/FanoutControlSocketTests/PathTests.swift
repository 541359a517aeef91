// SPDX-License-Identifier: Apache-2.0

import FanoutControlSocket
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
        #expect(error.map { "\($0)".contains("a daemon that runs has it") } == true)
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
}
