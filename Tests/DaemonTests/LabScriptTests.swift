// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LabNet
import Testing
import Tiers

/// `make lab`: the tests run the commands that it prints.
@Suite(
    "make lab", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct LabScriptTests {
    private static let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }.path

    /// Runs `make lab` with the executables built with these tests.
    private func make(_ arguments: String...) async throws -> [String] {
        let process = try ChildProcess(
            "make", ["-C", Self.root, "--no-print-directory", "lab", "SETUP=no"] + arguments,
            environment: ["BIN": Files.products.path])
        let ending = try await process.exit(within: .seconds(60))
        let state = process.record.state
        #expect(ending == .exited(0), "\(state.errors)")
        return state.output
    }

    /// The commands below the line that begins with `heading`.
    private func commands(_ advice: [String], below heading: String) throws -> [String] {
        let start = try #require(advice.firstIndex { $0.hasPrefix(heading) }, "\(advice)")
        return advice[(start + 1)...].prefix { $0.hasPrefix("  ") }.map { String($0.dropFirst(2)) }
    }

    private func start(_ command: String) throws -> ChildProcess {
        let words = command.split(separator: " ").map(String.init)
        return try ChildProcess(words[0], Array(words.dropFirst()))
    }

    /// The namespaces, folders and pins that exist.
    private func traces() throws -> [String] {
        try ["ip netns list", "ls /run", "find /sys/fs/bpf -mindepth 1"].map {
            try Shell.output($0)
        }
    }

    @Test(
        "its commands send ten datagrams that the metrics count, and `down` leaves nothing",
        arguments: ["tc_ebpf", "af_xdp"])
    func playing(mode: String) async throws {
        try await Namespace.withOwnMounts(["link set lo up"]) {
            // Named namespaces are files in a folder; own mounts keep this lab apart from another on this machine.
            for (kind, path) in [("tmpfs", "/run"), ("bpf", "/sys/fs/bpf")] {
                try Namespace.command("mount -t \(kind) none \(path)")
            }
            // The first call creates these folders, and they stay.
            try Namespace.command("mkdir /run/netns /run/udp-fanout")
            let before = try traces()
            let advice = try await make()
            #expect(try await make() == advice, "a second call changes nothing")

            let isTC = mode == "tc_ebpf"
            let heading = isTC ? "the balancer, until" : "the balancer in mode af_xdp"
            let daemon = try start(commands(advice, below: heading)[0])
            try await daemon.record.wait("the start") { state in
                state.errors.first { $0.contains("udp-fanout is running") }
            }
            if isTC {
                let shown = try Shell.output(commands(advice, below: "its program at the hook")[0])
                #expect(shown.contains("udp_fanout"), "\(shown)")
            }

            var receivers: [ChildProcess] = []
            for (index, family) in ["v4", "v6"].enumerated() {
                let first = try commands(advice, below: "what a receiver sees")[index]
                let three = try (1...3).map { number in
                    try start(
                        first.replacingOccurrences(of: "dst1", with: "dst\(number)")
                            .replacingOccurrences(of: "10.77.1", with: "10.77.\(number)")
                            .replacingOccurrences(of: "fd77:1:", with: "fd77:\(number):"))
                }
                receivers += three
                for receiver in three {
                    try await receiver.record.wait("its place") { state in
                        (state.output + state.errors).first { $0.contains("5514") }
                    }
                }
                let sender = try start(commands(advice, below: "ten datagrams")[index])
                #expect(try await sender.exit() == .exited(0))
                let greetings = {
                    three.map { $0.record.state.output.count { $0.contains("Hello World") } }
                }
                try await eventually("ten datagrams arrive") { greetings().reduce(0, +) == 10 }
                // In a kernel mode each CPU has its own round robin, and the sender may move to another CPU.
                #expect(greetings().allSatisfy { $0 >= 1 }, "\(greetings())")

                let page = try MetricsPage(
                    Shell.output(commands(advice, below: "the counts")[0]))
                let labels = ["listener": "lab-\(family)", "mode": mode]
                #expect(page.count("packets_received_total", labels) == 10)
                #expect(page.count("packets_forwarded_total", labels) == 10)
            }
            let status = try await make("ARGS=status").joined(separator: "\n")
            #expect(status.contains("process \(daemon.pid)"), "\(status)")

            _ = try await make("ARGS=down")
            #expect(try await daemon.exit() == .exited(0))
            for receiver in receivers { #expect(try await receiver.exit() == .exited(0)) }
            let after = try traces()
            #expect(after == before)
        }
    }

    @Test("`down` removes what a killed daemon left, and a second `down` finds nothing")
    func killed() async throws {
        try await Namespace.withOwnMounts(["link set lo up"]) {
            for (kind, path) in [("tmpfs", "/run"), ("bpf", "/sys/fs/bpf")] {
                try Namespace.command("mount -t \(kind) none \(path)")
            }
            try Namespace.command("mkdir /run/netns /run/udp-fanout")
            let before = try traces()
            let advice = try await make()
            let daemon = try start(commands(advice, below: "the balancer")[0])
            try await daemon.record.wait("the start") { state in
                state.errors.first { $0.contains("udp-fanout is running") }
            }
            await daemon.end()
            #expect(try Shell.output("find /sys/fs/bpf -name interface-*") != "")
            _ = try await make("ARGS=down")
            let after = try traces()
            #expect(after == before)
            #expect(try await make("ARGS=down") == [])
        }
    }

    @Test("a namespace of the same name that is not the lab's is left alone")
    func foreign() async throws {
        try await Namespace.withOwnMounts(["link set lo up"]) {
            try Namespace.command("mount -t tmpfs none /run")
            try Namespace.ip("netns add ns-dst1")
            let process = try ChildProcess("\(Self.root)/scripts/lab.sh", ["up"])
            #expect(try await process.exit() == .exited(1))
            let said = process.record.state.errors.joined()
            #expect(said.contains("ns-dst1 is there and not this lab's"), "\(said)")
            let down = try ChildProcess("\(Self.root)/scripts/lab.sh", ["down"])
            #expect(try await down.exit() == .exited(0))
            #expect(try Shell.output("ip netns list") == "ns-dst1\n")
        }
    }
}
