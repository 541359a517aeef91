// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import ReusePortLB
import Synchronization
import Testing

extension ReusePortTests {
    @Suite("Refusals")
    struct RefusalTests {}
}

extension ReusePortTests.RefusalTests {
    private static func failure(
        _ body: () throws(ReusePortError) -> Void
    ) throws -> ReusePortError {
        do {
            try body()
        } catch {
            return error
        }
        throw Failed("nothing was thrown", 0)
    }

    @Test("an error explains what its errno means for its operation only")
    func words() throws {
        let place = try Place()
        let group = try place.group(count: 2)
        let membership = try group.join(try ReusePortSocket(boundTo: try .free()), slot: 0)
        let busy = try Self.failure { () throws(ReusePortError) in
            try ReusePortGroup.destroy("g", pinRoot: place.pins.path)
        }
        #expect(busy.code == .busy && !busy.remedy.contains("slot"), "\(busy)")
        let missing = try Self.failure { () throws(ReusePortError) in
            _ = try ReusePortGroup("h", place.options())
        }
        #expect(missing.code == .notFound && missing.remedy.contains("count"), "\(missing)")
        #expect(!missing.remedy.contains("socket"))
        let wanted = try Self.failure { () throws(ReusePortError) in
            _ = try ReusePortGroup("h", place.options(existingOnly: true))
        }
        #expect(wanted.remedy == "there is no such group")
        let nowhere = try Self.failure { () throws(ReusePortError) in
            _ = try ReusePortGroup("g", GroupOptions(count: 1, pinRoot: "/tmp"))
        }
        #expect(nowhere.remedy.hasPrefix("/tmp is on no BPF file system"), "\(nowhere)")
        try membership.leave()
    }

    @Test("a privileged port is an error of the socket, not of a group")
    func port() async throws {
        let error = try await Privilege.without {
            try Self.failure { () throws(ReusePortError) in
                _ = try ReusePortSocket(boundTo: Endpoint(.loopback, port: 53))
            }
        }
        #expect(error.code == .accessDenied && error.remedy.contains("CAP_NET_BIND_SERVICE"))
        #expect(!error.remedy.contains("group"), "\(error)")
    }

    @Test("an invalid program is refused, the log says why, and the kernel's age is not blamed")
    func program() throws {
        let heard = Mutex<[String]>([])
        var options = GroupOptions(count: 1)
        options.object = Array("no ELF object".utf8)
        options.log = { level, line in
            if level == .error { heard.withLock { $0.append(line) } }
        }
        let error = try Self.failure { () throws(ReusePortError) in
            _ = try ReusePortGroup(private: options)
        }
        #expect(error.code == .programRefused && error.remedy.contains("the log says why"))
        #expect(!error.remedy.contains("Linux"), "\(error)")
        #expect(!heard.withLock { $0 }.isEmpty)
    }

    @Test("a refused join keeps the count; one that succeeds sets its own")
    func count() throws {
        let place = try Place()
        let endpoint = try Endpoint.free()
        let group = try place.group(count: 3)
        let first = try group.join(try ReusePortSocket(boundTo: endpoint), slot: 0)
        let wider = try place.group(count: 5)
        let socket = try ReusePortSocket(boundTo: endpoint)
        let taken = try Self.failure { () throws(ReusePortError) in
            _ = try wider.join(socket, slot: 0)
        }
        #expect(taken.code == .slotTaken)
        #expect(try group.info().count == 3)
        let second = try wider.join(socket, slot: 4)
        #expect(try group.info().count == 5)
        try second.leave()
        try first.leave()
    }

    @Test("objects of the distribution's clang and of the toolchain's clang are accepted")
    func compilers() async throws {
        let folder = try ScratchFolder()
        let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in
            url.deletingLastPathComponent()
        }
        let process = try ChildProcess(
            "/bin/sh",
            [
                root.appending(path: "bpf/embed.sh").path, "/usr/bin/clang",
                root.appending(path: "bpf").path, "reuseport_select",
                folder.path("reuseport_select.swift"),
            ])
        let ending = try await process.exit()
        try #require(ending == .exited(0), "\(process.record.state.errors)")
        var options = GroupOptions(count: 2)
        options.object = try Array(
            Data(contentsOf: URL(filePath: folder.path("reuseport_select.bpf.o"))))
        let group = try ReusePortGroup(private: options)
        let members = try Members(group, count: 2, on: try .free())
        try Spray(to: members.endpoint).send(from: IPAddress.v4Sources(20))
        let prediction = Prediction(count: 2)
        for (source, slot) in try members.homes() { #expect(prediction.slot(of: source) == slot) }
        #expect(try Sums(group) == Sums(selected: 20))
    }
}
