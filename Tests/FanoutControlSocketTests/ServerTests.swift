// SPDX-License-Identifier: Apache-2.0

import FanoutControl
import Glibc
import LabNet
import LinuxNet
import Synchronization
import Testing
import Tiers

@Suite("The control socket", .tags(.network))
struct ServerTests {
    @Test("hands each request to the daemon as it was written, and its answer back")
    func exchange() throws {
        let seen = Mutex<[ControlRequest]>([])
        let fixture = try ServerFixture { request in
            seen.withLock { $0.append(request) }
            return .drain(
                DrainReport(
                    receivers: ["a/b"], changed: true, drained: ["a/b"],
                    listenersWithoutReceiver: []))
        }
        defer { fixture.server.stop() }
        let client = try ControlClient(path: fixture.path)
        let answer = try client.ask(ControlRequest(.drain, name: "a/b"))
        #expect(answer.ok && answer.drain?.receivers == ["a/b"])
        _ = try client.ask(ControlRequest(.explain, from: "x", to: "y"))
        #expect(
            seen.withLock { $0 } == [
                ControlRequest(.drain, name: "a/b"), ControlRequest(.explain, from: "x", to: "y"),
            ])
    }

    @Test("is a file that its owner alone may open, whatever the umask")
    func mode() throws {
        let before = umask(0)
        defer { umask(before) }
        let fixture = try ServerFixture()
        defer { fixture.server.stop() }
        let mode = try #require(ServerFixture.mode(of: fixture.path))
        #expect(mode & S_IFMT == S_IFSOCK)
        #expect(mode & 0o777 == 0o600)
    }

    @Test("answers lines in their order, however they are cut into pieces")
    func pieces() throws {
        let fixture = try ServerFixture { request in
            .failure(ControlFailure(request.name ?? "", remedy: ""))
        }
        defer { fixture.server.stop() }
        let stream = try UnixStream(connectingTo: fixture.path)
        try stream.send(Array(#"{"request":"drain","na"#.utf8))
        try stream.send(Array("me\":\"one\"}\r\n\n{\"request\":\"drain\",\"name\":\"two\"}\n".utf8))
        var text = ""
        while text.filter({ $0 == "\n" }).count < 2 {
            text += String(decoding: try stream.receive().bytes, as: UTF8.self)
        }
        #expect(
            text == """
                {"error":{"message":"one","remedy":""},"ok":false}
                {"error":{"message":"two","remedy":""},"ok":false}

                """)
    }

    @Test(
        "says of a line that is no request what is wrong, and goes on",
        arguments: ["{}", "null", "nonsense", #"{"request":"explode"}"#, "[1]", "\u{0}"])
    func garbage(line: String) throws {
        let fixture = try ServerFixture()
        defer { fixture.server.stop() }
        let client = try ControlClient(path: fixture.path)
        let answer = String(decoding: try client.exchange(Array((line + "\n").utf8)), as: UTF8.self)
        #expect(answer.contains(#""ok":false"#))
        #expect(answer.contains("docs/reference/control-socket.md"))
        #expect(try client.ask(ControlRequest(.reload)).ok)
    }

    @Test("refuses a line without end, and closes")
    func endless() throws {
        let fixture = try ServerFixture()
        defer { fixture.server.stop() }
        let stream = try UnixStream(connectingTo: fixture.path)
        let piece = [UInt8](repeating: 0x61, count: 4096)
        // It may close while this still sends.
        for _ in 0..<20 { try? stream.send(piece) }
        let answer = (try? stream.receive().bytes) ?? []
        #expect(String(decoding: answer, as: UTF8.self).contains("longer than 65536 bytes"))
    }

    @Test("is not held up by clients that say nothing, and has few of them")
    func silentClients() throws {
        let fixture = try ServerFixture()
        defer { fixture.server.stop() }
        let silent = try (0..<15).map { _ in try UnixStream(connectingTo: fixture.path) }
        #expect(try ControlClient(path: fixture.path).ask(ControlRequest(.reload)).ok)
        let more = try UnixStream(connectingTo: fixture.path)
        // The one that was answered may have gone or not by now; one beyond that is too many.
        let last = try (0..<3).map { _ in try UnixStream(connectingTo: fixture.path) }
        let answer = try #require(last.last).receive().bytes
        #expect(String(decoding: answer, as: UTF8.self).contains("too many connections"))
        withExtendedLifetime((silent, more)) {}
    }

    @Test("hears root and its own user alone", .enabled(if: Privilege.isRoot))
    func otherUsers() async throws {
        let fixture = try ServerFixture()
        defer { fixture.server.stop() }
        chmod(fixture.path, 0o666)
        let client = try ChildProcess(
            "/usr/bin/setpriv",
            [
                "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/sh", "-c",
                "printf '{\"request\":\"reload\"}\\n' | nc -N -U \(fixture.path)",
            ])
        _ = try await client.exit()
        #expect(client.record.state.output == [])
        #expect(try ControlClient(path: fixture.path).ask(ControlRequest(.reload)).ok)
    }
}
