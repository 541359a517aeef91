// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import Testing
import Tiers

/// Mode tc_ebpf and the BPF file system.
@Suite(
    "Mode tc_ebpf and its pins", .tags(.network), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct TCFileSystemTests {
    private static let root = "/sys/fs/bpf"

    /// Runs `body` in a lab whose balancer sees no BPF file system at all.
    private func withoutFileSystem(
        _ body: @Sendable (VethLab, [Sink]) async throws -> Void
    ) async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            try #require(try !Shell.output("stat -f -c %T \(Self.root)").contains("bpf"))
            try await body(lab, lab.sinks())
        }
    }

    private func forwards(_ lab: VethLab, _ sinks: [Sink]) async throws {
        let before = sinks.arrivals
        try lab.traffic().send([UInt8](repeating: 0, count: 64))
        try await eventually("it forwards") { sinks.arrivals == before + 1 }
    }

    @Test("where no BPF file system is mounted, it mounts one")
    func missing() async throws {
        try await withoutFileSystem { lab, sinks in
            try await DaemonUnderTest.running(VethLab.config(sinks.map(\.endpoint))) { daemon in
                #expect(try Shell.output("stat -f -c %T \(Self.root)").contains("bpf"))
                try await forwards(lab, sinks)
                try await daemon.stop()
            }
            #expect(try Shell.output("find \(Self.root) -path */udp-fanout*") == "")
        }
    }

    @Test("one that is read-only is refused with the remedy")
    func readOnly() async throws {
        try await withoutFileSystem { _, sinks in
            try Namespace.command("mount -t bpf -o ro bpf \(Self.root)")
            let daemon = try DaemonUnderTest(VethLab.config(sinks.map(\.endpoint)))
            #expect(try await daemon.process.exit() == .exited(1))
            let said = daemon.process.record.state.errors.joined(separator: "\n")
            #expect(said.contains("make folder \(Self.root)/udp-fanout: EROFS"), "\(said)")
            #expect(said.contains("mount -o remount,rw \(Self.root)"), "\(said)")
            #expect(try Shell.output("tc filter show dev lb0 ingress") == "")
        }
    }

    @Test("an older version's program at the hook is replaced in one step, whatever its tables")
    func otherLayout() async throws {
        try await withoutFileSystem { lab, sinks in
            let receivers = sinks.map(\.endpoint)
            let small = VethLab.config(receivers, attach: "tcx", settings: "max_downstream: 3")
            let first = try DaemonUnderTest(small)
            try await first.isRunning()
            let load = try Load([lab.traffic()], rate: 20_000)
            try await load.pass(1000)
            await first.process.end()
            let large = VethLab.config(receivers, attach: "tcx", settings: "max_downstream: 1024")
            try await DaemonUnderTest.running(large) { daemon in
                let said = try await daemon.logs("attached TC eBPF program to ingress")
                #expect(said.fields["replaced"] == "true")
                try await load.pass(1000)
                let report = await load.stop()
                try await eventually("all arrive") { sinks.arrivals == report.datagrams }
                let delivery = Delivery(of: report, at: sinks)
                #expect(delivery.isExact(), "\(delivery)")
                try await daemon.stop()
            }
            #expect(try Shell.output("find \(Self.root) -path */udp-fanout*") == "")
        }
    }

    @Test("a pin of the same name that is no link is removed, and the daemon starts")
    func foreignPin() async throws {
        try await withoutFileSystem { lab, sinks in
            let yaml = VethLab.config(sinks.map(\.endpoint), attach: "tcx")
            let first = try DaemonUnderTest(yaml)
            try await first.isRunning()
            await first.process.end()
            let pin = try Shell.output("find \(Self.root)/udp-fanout -name tc_link")
                .trimmingCharacters(in: .newlines)
            try #require(pin != "")
            try FileManager.default.removeItem(atPath: pin)
            // The kernel reports a map's entries in the field where it reports a link's interface.
            let index = try #require(pin.firstMatch(of: #/interface-(\d+)-/#)).output.1
            try Namespace.command(
                "bpftool map create \(pin) type array key 4 value 4 entries \(index) name other")
            try await DaemonUnderTest.running(yaml) { daemon in
                try await forwards(lab, sinks)
                try await daemon.stop()
            }
            #expect(try Shell.output("find \(Self.root) -path */udp-fanout*") == "")
        }
    }

    @Test("an object of another program is refused before anything changes")
    func foreignObject() async throws {
        try await withoutFileSystem { _, sinks in
            let yaml = VethLab.config(sinks.map(\.endpoint))
            let folder = try ScratchFolder()
            let text = try folder.write("this is no object", to: "text.o")
            for path in [text, folder.path("missing.o")] {
                let daemon = try DaemonUnderTest(yaml, ["--ebpf-program", path])
                #expect(try await daemon.process.exit() == .exited(1))
                let said = daemon.process.record.state.errors.joined(separator: "\n")
                #expect(said.contains(path), "\(said)")
                #expect(try Shell.output("tc filter show dev lb0 ingress") == "")
            }
        }
    }
}
