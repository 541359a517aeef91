// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import Glibc
import LabNet
import Testing

extension CollectorTests {
    @Suite("The page's walkthrough")
    struct WalkthroughPageTests {}
}

extension CollectorTests.WalkthroughPageTests {
    private static let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }

    /// The commands of a page from a heading to the next, in order, without comments.
    private static func commands(of page: String, below heading: String) throws -> [String] {
        let page = try String(contentsOf: root.appending(path: page), encoding: .utf8)
        let start = try #require(page.range(of: "\n\(heading)\n"), "no heading \(heading)")
        let section = page[start.upperBound...].components(separatedBy: "\n#")[0]
        return section.matches(of: /\n```sh\n((?s:.*?))\n```/)
            .flatMap { $0.output.1.components(separatedBy: "\n") }
            .map { $0.replacing(/\s+#\s.*$/, with: "") }
    }

    /// A folder that any user may search, with the programs, as if installed.
    private static func installed() throws -> ScratchFolder {
        let folder = try ScratchFolder()
        chmod(folder.url.path, 0o755)
        for name in ["collector", "publisher"] {
            let copy = folder.path(name)
            try FileManager.default.copyItem(atPath: Files.product(name), toPath: copy)
            chmod(copy, 0o755)
        }
        return folder
    }

    private static func start(_ command: String, _ folder: ScratchFolder) throws -> ChildProcess {
        try ChildProcess(
            "/bin/sh", ["-c", "exec \(command)"],
            environment: ["PATH": "\(folder.url.path):/usr/sbin:/usr/bin:/sbin:/bin"],
            folder: folder)
    }

    private static func run(_ command: String, _ folder: ScratchFolder) async throws {
        let process = try start(command, folder)
        let ending = try await process.exit()
        #expect(ending == .exited(0), "\(command): \(process.record.state.errors)")
    }

    /// Runs `body` on a separate host, with its own users and without a BPF file system.
    private static func onFreshHost(_ body: @Sendable () async throws -> Void) async throws {
        let users = try ScratchFolder()
        try await Namespace.withOwnMounts(["link set lo up"]) {
            try Namespace.command("cp -a /etc/. \(users.url.path)")
            try Namespace.command("mount --bind \(users.url.path) /etc")
            let names = "/etc/passwd /etc/shadow /etc/group /etc/gshadow"
            try Namespace.command("sed -i /^collector:/d \(names)")
            try await body()
        }
    }

    @Test("as root: its commands, verbatim, deliver datagrams and leave nothing behind")
    func root() async throws {
        let folder = try Self.installed()
        try await Self.onFreshHost {
            var running: [ChildProcess] = []
            for command in try Self.commands(
                of: "docs/netflow.md", below: "## On one host")
            {
                let isLasting = command.contains(#/^(collector|publisher) 192\.0\.2\.1 /#)
                guard isLasting else {
                    if command.hasPrefix("collector destroy") {
                        for process in running {
                            process.send(SIGINT)
                            #expect(try await process.exit() == .exited(0))
                        }
                    }
                    try await Self.run(command, folder)
                    continue
                }
                let process = try Self.start(command, folder)
                running.append(process)
                if command.hasPrefix("collector") {
                    try await process.record.wait("its slot") { state in
                        state.errors.first { $0.contains("slot") }
                    }
                }
                guard command.hasPrefix("publisher") else { continue }
                try #require(running.count == 4)
                let collectors = running.prefix(3)
                try await eventually("all of them receive") {
                    collectors.allSatisfy { collector in
                        collector.record.state.output.contains {
                            $0.contains(/^198\.51\.100\.\d+:\d+ Hello World \d+!$/)
                        }
                    }
                }
            }
            #expect(running.count == 4)
            let pins = try FileManager.default.contentsOfDirectory(atPath: "/sys/fs/bpf")
            #expect(!pins.contains { $0.hasPrefix("collector") }, "\(pins)")
            #expect(try !Shell.output("ip address show dev lo").contains("192.0.2.1"))
        }
    }

    @Test("without privilege: its commands, verbatim, start a collector of that user")
    func unprivileged() async throws {
        let folder = try Self.installed()
        try await Self.onFreshHost {
            try Namespace.ip("address add 192.0.2.1/32 dev lo")
            let commands = try Self.commands(
                of: "docs/production.md", below: "## Without privilege")
            let last = try #require(commands.last)
            for command in commands.dropLast() { try await Self.run(command, folder) }
            let collector = try Self.start(last, folder)
            try await collector.record.wait("its slot") { state in
                state.errors.first { $0.contains("slot") }
            }
            let status = try Self.start("collector status netflow", folder)
            #expect(try await status.exit() == .exited(0))
            let user = try Shell.output("id -u collector").trimmingCharacters(
                in: .whitespacesAndNewlines)
            let said = status.record.state.output
            let row = try Regex("  0 +udp +\\d+ +\(user) ")
            #expect(said.contains { $0.contains(row) }, "\(said)")
            // A killed runuser would leave its child behind; it forwards SIGTERM.
            collector.send(SIGTERM)
            _ = try await collector.exit()
        }
    }
}
