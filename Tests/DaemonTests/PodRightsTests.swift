// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import LinuxNet
import Testing

@testable import udp_fanout

extension DaemonTests {
    /// A kernel mode with the privileges of a pod: the capabilities of the mode, 64 KiB of locked memory, and a mounted
    /// BPF file system.
    @Suite(
        "Rights of a pod", .serialized, .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
    struct PodRightsTests {}
}

extension DaemonTests.PodRightsTests {
    private static let modes = ForwardingMode.allCases.filter(\.needsInterface)

    /// The command prefix that runs a command with these capabilities.
    private static func prefix(_ rights: Capabilities) -> [String] {
        let set = ["-all"] + rights.names.map { "+" + $0.dropFirst("CAP_".count).lowercased() }
        return [
            "/usr/bin/prlimit", "--memlock=65536:65536", "/usr/bin/setpriv", "--no-new-privs",
            "--bounding-set=\(set.joined(separator: ","))", "--inh-caps=-all",
        ]
    }

    /// Starts a daemon with these capabilities.
    ///
    /// - Returns: its errors; nil when it runs.
    private func refusal(
        _ mode: ForwardingMode, _ rights: Capabilities, to receivers: [Endpoint]
    ) async throws -> String? {
        let daemon = try DaemonUnderTest(
            VethLab.config(receivers, mode: mode.rawValue), prefix: Self.prefix(rights))
        do {
            try await daemon.isRunning()
        } catch {
            // The wait fails when the daemon has ended.
            await daemon.process.end()
            return daemon.process.record.state.errors.joined(separator: "\n")
        }
        try await daemon.stop()
        return nil
    }

    @Test("a clsact filter is recognised and removed with the capabilities of the mode")
    func filter() async throws {
        let lab = try VethLab()
        let config = VethLab.config([Endpoint(VethLab.v4(1, 2), port: 9000)], attach: "clsact")
        try await lab.balancer.run(ownMounts: true) {
            try Namespace.command("mount -t bpf bpf /sys/fs/bpf")
            let before = try VethLab.state()
            let prefix = Self.prefix(ForwardingMode.tcEBPF.capabilities)
            for replaced in ["false", "true"] {
                let daemon = try DaemonUnderTest(config, prefix: prefix)
                try await daemon.isRunning()
                let said = try await daemon.logs("attached TC eBPF program to ingress")
                #expect(said.fields["attach"] == "clsact")
                #expect(said.fields["replaced"] == replaced)
                if replaced == "true" {
                    try await daemon.stop()
                } else {
                    await daemon.process.end()
                }
            }
            #expect(try VethLab.state() == before)
        }
    }

    @Test(
        "a kernel mode runs with exactly its capabilities, and names the missing one without it",
        arguments: modes)
    func exactly(mode: ForwardingMode) async throws {
        let lab = try VethLab()
        let receivers = [Endpoint(VethLab.v4(1, 2), port: 9000)]
        try await lab.balancer.run(ownMounts: true) {
            try Namespace.command("mount -t bpf bpf /sys/fs/bpf")
            let needed = mode.capabilities
            #expect(try await refusal(mode, needed, to: receivers) == nil)
            for bit in 0..<64 where needed.rawValue >> UInt64(bit) & 1 == 1 {
                let one = Capabilities(rawValue: 1 << UInt64(bit))
                let said = try #require(
                    try await refusal(mode, needed.subtracting(one), to: receivers), "\(one.names)")
                for name in needed.names {
                    #expect(said.contains(name) == one.names.contains(name), "\(name): \(said)")
                }
                #expect(!said.contains("needs Linux"), "\(said)")
            }
        }
    }
}
