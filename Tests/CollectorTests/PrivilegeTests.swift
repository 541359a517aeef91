// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing

extension CollectorTests {
    @Suite("Groups of other users")
    struct PrivilegeTests {}
}

extension CollectorTests.PrivilegeTests {
    @Test("without root's group, an unprivileged user gets the command that creates one")
    func noGroup() async throws {
        let pins = try BPFFileSystem()
        chmod(pins.path, 0o700)
        let program = try CollectorUnderTest.Program.asNobody()
        let endpoint = try Endpoint.free()
        let run = try await CollectorUnderTest.run(
            ["\(endpoint.address)", "\(endpoint.port)", "0", "1", "--pin-root", pins.path],
            program: program)
        #expect(run.code == 1)
        let said = run.errors.joined()
        #expect(said.contains("EACCES") && said.contains("chmod 711 \(pins.path)"), "\(said)")
        chmod(pins.path, 0o711)
        let searching = try await CollectorUnderTest.run(
            ["\(endpoint.address)", "\(endpoint.port)", "0", "1", "--pin-root", pins.path],
            program: program)
        let heard = searching.errors.joined(separator: "\n")
        #expect(searching.code == 1 && heard.contains("EPERM"), "\(heard)")
        #expect(heard.contains("as root: collector create collector-127-0-0-1-"), "\(heard)")
        #expect(heard.contains("--count 1 --owner USER --pin-root \(pins.path)"), "\(heard)")
        _ = try await CollectorUnderTest.run(
            ["create", "g", "--count", "1", "--pin-root", pins.path])
        let theirs = try await CollectorUnderTest.run(
            [
                "\(endpoint.address)", "\(endpoint.port)", "0", "1", "--pin-root", pins.path,
                "--group", "g",
            ], program: program)
        let told = theirs.errors.joined()
        #expect(told.contains("EACCES") && told.contains("belong to another user"), "\(told)")
        #expect(!told.contains("chmod"), "\(told)")
    }

    @Test("a privileged port is an error of the socket, and leaves no group behind")
    func port() async throws {
        let pins = try BPFFileSystem()
        chmod(pins.path, 0o777)
        let run = try await CollectorUnderTest.run(
            ["127.0.0.1", "53", "0", "1", "--pin-root", pins.path],
            program: try CollectorUnderTest.Program.asNobody())
        let said = run.errors.joined()
        #expect(run.code == 1 && said.contains("bind a UDP socket"), "\(said)")
        #expect(said.contains("CAP_NET_BIND_SERVICE") && !said.contains("group"), "\(said)")
        #expect(try await StatusReport(pins).groups.isEmpty)
    }

    @Test("status names a group that it may not read, and shows the others")
    func unreadable() async throws {
        let pins = try BPFFileSystem()
        let program = try CollectorUnderTest.Program.asNobody()
        chmod(pins.path, 0o755)
        for words in [["ours", "--owner", "65534"], ["theirs"]] {
            let run = try await CollectorUnderTest.run(
                ["create", "--count", "2", "--pin-root", pins.path] + words)
            #expect(run.code == 0, "\(run.errors)")
        }
        let status = try await StatusReport(pins, program: program)
        #expect(status.groups.map(\.name) == ["ours", "theirs"])
        #expect(status.groups[0].count == 2 && status.groups[0].error == nil)
        #expect(status.groups[1].error?.contains("EACCES") == true)
        #expect(status.groups[1].error?.contains("belong to another user") == true)
    }

    @Test(
        "create warns when the owner cannot search the path, and refuses another user's group")
    func warnings() async throws {
        let pins = try BPFFileSystem()
        chmod(pins.path, 0o700)
        let words = ["create", "g", "--count", "1", "--pin-root", pins.path]
        let closed = try await CollectorUnderTest.run(words + ["--owner", "65534"])
        #expect(closed.code == 0)
        #expect(
            closed.errors.first?.contains("cannot search \(pins.path) (mode 0700): chmod 711")
                == true,
            "\(closed.errors)")
        chmod(pins.path, 0o711)
        let open = try await CollectorUnderTest.run(words + ["--owner", "nobody"])
        #expect(open.code == 0 && open.errors == [])
        let other = try await CollectorUnderTest.run(
            ["create", "g", "--count", "2", "--pin-root", pins.path, "--owner", "12345"])
        #expect(other.code == 1 && other.output == [] && other.errors.count == 1)
        #expect(other.errors.joined().contains("belongs to uid 65534"), "\(other.errors)")
        #expect(try await StatusReport(pins).groups.first?.count == 1)
        let wider = try await CollectorUnderTest.run(
            ["create", "g", "--count", "2", "--pin-root", pins.path])
        #expect(wider.code == 0 && wider.output.joined().contains(": 2 slots"))
    }

    @Test("--mode opens a group to others; its members still need one uid")
    func mode() async throws {
        let pins = try BPFFileSystem()
        let run = try await CollectorUnderTest.run(
            ["create", "g", "--count", "1", "--mode", "0666", "--pin-root", pins.path])
        #expect(run.code == 0, "\(run.errors)")
        let program = try CollectorUnderTest.Program.asNobody()
        let endpoint = try Endpoint.free()
        let collector = try await CollectorUnderTest.inSlot(
            0, of: 1, at: endpoint, ["--pin-root", pins.path, "--group", "g"], program: program)
        let member = try await StatusReport(pins).groups.first?.slots?.first?.members.first
        #expect(member?.uid == 65534 && member?.pid == collector.process.pid)
        try await collector.stop()
    }

    @Test("a receive buffer that the kernel caps is a warning that names the sysctl")
    func buffer() async throws {
        let pins = try BPFFileSystem()
        _ = try await CollectorUnderTest.run(
            [
                "create", "g", "--count", "1", "--owner", "65534", "--pin-root", pins.path,
            ])
        let program = try CollectorUnderTest.Program.asNobody()
        let collector = try await CollectorUnderTest.inSlot(
            0, of: 1, at: try .free(),
            ["--pin-root", pins.path, "--group", "g", "--recv-buffer", "1000000000"],
            program: program)
        #expect(collector.errors.contains { $0.contains("net.core.rmem_max") })
        try await collector.stop()
    }
}
