// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import Foundation
import LabNet
import ReusePortLB
import Testing

extension CollectorTests {
    @Suite("collector metrics")
    struct MetricsCommandTests {}
}

extension CollectorTests.MetricsCommandTests {
    /// A pin root with the groups a, which has a member that got a datagram, and b.
    private struct Two: ~Copyable {
        let pins: BPFFileSystem
        let socket: ReusePortSocket
        let group: ReusePortGroup
        let membership: Membership

        init() throws {
            let pins = try BPFFileSystem()
            let endpoint = try Endpoint.free()
            let socket = try ReusePortSocket(boundTo: endpoint)
            let group = try ReusePortGroup("a", GroupOptions(count: 2, pinRoot: pins.path))
            let membership = try group.join(socket, slot: 0)
            _ = try ReusePortGroup("b", GroupOptions(count: 3, pinRoot: pins.path))
            try Traffic(to: endpoint).send([1])
            self.pins = pins
            self.socket = socket
            self.group = group
            self.membership = membership
        }
    }

    private static func expectPage(
        _ page: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for line in [
            "# TYPE reuseportlb_selected_packets_total counter",
            "# TYPE reuseportlb_members gauge",
            "reuseportlb_slots{group=\"a\"} 2", "reuseportlb_slots{group=\"b\"} 3",
            "reuseportlb_members{group=\"a\",state=\"current\"} 1",
            "reuseportlb_members{group=\"b\",state=\"missing\"} 3",
            "reuseportlb_readable{group=\"a\"} 1",
            "reuseportlb_socket_drops_total{group=\"a\",slot=\"0\",state=\"current\"} 0",
        ] {
            #expect(
                page.contains(line + "\n"), "\(line) in \(page)", sourceLocation: sourceLocation)
        }
        // Each metric's samples are in one block.
        let heads = page.split(separator: "\n").filter { $0.hasPrefix("# TYPE") }
        #expect(Set(heads).count == heads.count, sourceLocation: sourceLocation)
    }

    @Test("once: every group below the pin root, in the text format that promtool accepts")
    func once() async throws {
        let two = try Two()
        let run = try await CollectorUnderTest.run(["metrics", "--pin-root", two.pins.path])
        #expect(run.code == 0)
        let page = run.output.joined(separator: "\n") + "\n"
        Self.expectPage(page)
        let folder = try ScratchFolder()
        try page.write(toFile: folder.path("page"), atomically: true, encoding: .utf8)
        let check = try ChildProcess(
            "/bin/sh", ["-c", "promtool check metrics < \(folder.path("page"))"])
        let ending = try await check.exit(within: .seconds(60))
        #expect(ending == .exited(0), "\(check.record.state.errors)")
        let named = try await CollectorUnderTest.run(["metrics", "b", "--pin-root", two.pins.path])
        #expect(!named.output.contains { $0.contains("group=\"a\"") })
        let missing = try await CollectorUnderTest.run([
            "metrics", "c", "--pin-root", two.pins.path,
        ])
        #expect(missing.code == 1)
        #expect(missing.errors.contains { $0.contains("group c") }, "\(missing.errors)")
    }

    @Test("--textfile writes a file that every user may read, and again at each interval")
    func textfile() async throws {
        let two = try Two()
        let folder = try ScratchFolder()
        let path = folder.path("groups.prom")
        let run = try await CollectorUnderTest.run(
            ["metrics", "--textfile", path, "--pin-root", two.pins.path])
        #expect(run.code == 0 && run.output == [])
        Self.expectPage(try String(contentsOfFile: path, encoding: .utf8))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o644)
        let refused = try await CollectorUnderTest.run(
            ["metrics", "--textfile", folder.path("no") + "/file", "--pin-root", two.pins.path])
        #expect(refused.code == 1)
        #expect(refused.errors.contains { $0.contains("no/file") }, "\(refused.errors)")
    }

    @Test("--listen serves them under /metrics until SIGTERM")
    func listening() async throws {
        let two = try Two()
        let endpoint = try Endpoint.free()
        let collector = try CollectorUnderTest(
            ["metrics", "--listen", "\(endpoint)", "--pin-root", two.pins.path])
        try await collector.isInSlot()
        let page = try Shell.output("curl -sS http://\(endpoint)/metrics")
        Self.expectPage(page)
        let other = try Shell.output("curl -sS -o /dev/null -w %{http_code} http://\(endpoint)/")
        #expect(other == "404")
        try await collector.stop()
    }
}
