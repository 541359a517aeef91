// SPDX-License-Identifier: Apache-2.0

import FanoutCore
import LabNet
import Testing
import Tiers

/// Health checks in the mode tc_ebpf, in a network of veths.
@Suite(
    "Health checks of mode tc_ebpf", .tags(.load), .serialized,
    .enabled(if: Privilege.isRoot, "NOT TESTED: needs root"))
struct HealthTestsTC {
    private static let healthy = "downstream is healthy"
    private static let disabled = "downstream marked unhealthy, disabling"
    private static let updated = "updated tc_ebpf downstream set"

    private func config(_ sinks: [Sink]) -> String {
        var lines = [
            "listeners:", "  - name: in", "    bind: \"\(VethLab.v4(0, 1)):5514\"",
            "    mode: tc_ebpf", "    interface: lb0", "    downstream:",
        ]
        for (index, sink) in sinks.enumerated() {
            lines += ["      - name: r\(index)", "        address: \"\(sink.endpoint)\""]
        }
        let health = "health: {enabled: true, protocol: tcp, interval_secs: 1, timeout_secs: 1}"
        return (lines + [health]).joined(separator: "\n") + "\n"
    }

    @Test("all receivers down and back, then one of them: every datagram is accounted for")
    func allDown() async throws {
        let lab = try VethLab()
        try await lab.balancer.run(ownMounts: true) {
            let sinks = try lab.receivers.enumerated().map { index, receiver in
                try receiver.enter { try Sink(on: VethLab.v4(index + 1, 2), keepsPayloads: false) }
            }
            let ports = try HealthPorts(sinks) { index, open in
                try lab.receivers[index].enter(open)
            }
            try await DaemonUnderTest.running(config(sinks)) { daemon in
                try await daemon.logs(Self.healthy, times: 3)
                let target = Endpoint(VethLab.v4(0, 1), port: 5514)
                let traffic = try lab.client.enter {
                    try Traffic(to: target, from: VethLab.v4(9, 1))
                }
                let load = try Load([traffic], rate: 10_000)
                try await load.pass(2000)
                ports.closeAll()
                try await daemon.logs(Self.disabled, times: 3)
                try await load.pass(2000)
                let opened = ContinuousClock.now
                try ports.openAll { index, open in try lab.receivers[index].enter(open) }
                try await daemon.logs(Self.healthy, times: 6)
                #expect(ContinuousClock.now - opened < .seconds(3))
                try await load.pass(2000)
                let changes = daemon.times(Self.updated)
                ports.close(1)
                try await daemon.logs(Self.disabled, times: 4)
                try await daemon.logs(Self.updated, times: changes + 1)
                try await load.pass(1000)
                let quiet = sinks[1].arrivals
                try await load.pass(2000)
                #expect(sinks[1].arrivals == quiet, "the disabled receiver gets nothing")
                let report = await load.stop()
                try await daemon.stop()
                let line = daemon.log.last { $0.message == "listener totals" }
                let totals = (line?.fields ?? [:]).compactMapValues { Int($0) }
                let dropped = totals["dropped_no_healthy"] ?? 0
                #expect(dropped >= 1000)
                #expect(totals["dropped"] == dropped)
                #expect(totals["received"] == Int(report.datagrams))
                #expect(totals["received"] == totals["forwarded"]! + dropped)
                try await eventually("what was forwarded arrives") {
                    Int(sinks.arrivals) == totals["forwarded"]
                }
            }
        }
    }
}
