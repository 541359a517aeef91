// SPDX-License-Identifier: Apache-2.0

import LabNet
import Testing

extension DaemonTests {
    @Suite(
        "Explain where no listener serves",
        .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
    struct ExplainServedTests {}
}

extension DaemonTests.ExplainServedTests {
    private static func config(_ mode: String) -> String {
        """
        listeners:
          - name: hook
            bind: 0.0.0.0:5514
            mode: \(mode)
            interface: lb0
            balance: source_ip
            downstream: [{name: r, address: "\(VethLab.v4(1, 2)):9000"}]
          - name: sock
            bind: "[::]:5515"
            balance: source_ip
            downstream: [{name: r, address: "\(VethLab.v4(1, 2)):9000"}]
        settings: {workers: 1}
        """
    }

    @Test("it says that, and why", arguments: ["tc_ebpf", "af_xdp"])
    func notServed(mode: String) async throws {
        let lab = try VethLab(receivers: 1)
        let (own, other) = (VethLab.v4(0, 1), VethLab.v4(1, 1))
        try await lab.balancer.run(ownMounts: true) {
            try Namespace.command("mount -t bpf bpf /sys/fs/bpf")
            try await DaemonUnderTest.running(Self.config(mode)) { daemon in
                /// The error; empty when a listener takes the datagram.
                func refusal(_ to: String, from: String = "10.8.9.1:7") async throws -> String {
                    let run = try await daemon.command(["explain", from, to])
                    #expect((run.code == 0) == run.errors.isEmpty, "\(run)")
                    return run.errors
                }
                func expect(_ to: String, refusedFor why: String) async throws {
                    let said = try await refusal(to)
                    #expect(said.hasPrefix("explain: no listener takes datagrams to \(to): "))
                    #expect(said.contains(why), "\(said)")
                }
                #expect(try await refusal("\(own):5514") == "")
                #expect(try await refusal("\(own):5515") == "")
                #expect(
                    try await refusal("\(other):5515") == "", "a socket takes all of the host's")
                #expect(try await refusal("127.0.0.7:5515") == "")
                try await expect(
                    "\(other):5514",
                    refusedFor:
                        "listener hook: it takes the addresses of lb0, and \(other) is none of them"
                )
                try await expect(
                    "10.8.7.7:5515",
                    refusedFor:
                        "listener sock: it takes the addresses of this host, and 10.8.7.7 is none")
                let crossed = try await refusal("\(own):5514", from: "[fd08::2]:7")
                #expect(crossed.contains("fd08::2 is IPv6 and \(own) IPv4"), "\(crossed)")

                try Namespace.ip("link set lb0 down")
                try await eventually("it is down") {
                    try await refusal("\(own):5514").contains("interface lb0 is down")
                }
                try Namespace.ip("link set lb0 up")
                try await eventually("it serves") { try await refusal("\(own):5514") == "" }
                try Namespace.ip("link set lb0 down name lb7 up")
                try await eventually("the plane follows a renamed one") {
                    try await refusal("\(own):5514") == ""
                }
                try Namespace.ip("link set lb7 down name lb0 up")
                try Namespace.ip("address flush dev lb0")
                try await eventually("it has no address") {
                    try await refusal("\(own):5514").contains("interface lb0 has no address")
                }
                try Namespace.ip("link delete lb0")
                try await eventually("the plane has let go of it") {
                    try await refusal("\(own):5514").contains("interface lb0 is gone")
                }
            }
        }
    }
}
