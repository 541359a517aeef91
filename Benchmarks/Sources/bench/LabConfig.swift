// SPDX-License-Identifier: Apache-2.0

/// A configuration of udp-fanout for the lab of veths.
enum LabConfig {
    /// Where the metrics are served, on the balancer's loopback.
    static let metricsPort = 9090

    static var yaml: String {
        var lines = [
            "listeners:",
            "  - name: \(DaemonConfig.listener)",
            "    bind: \(VethLab.service):\(VethLab.port)",
            "    mode: tc_ebpf",
            "    interface: \(VethLab.ingress)",
            "    balance: round_robin",
            "    downstream:",
        ]
        for (index, address) in VethLab.receivers.enumerated() {
            lines += [
                "      - name: receiver-\(index + 1)",
                "        address: \(address):\(VethLab.port)",
            ]
        }
        lines += ["metrics:", "  enabled: true", "  bind: 127.0.0.1:\(Self.metricsPort)"]
        return lines.joined(separator: "\n") + "\n"
    }
}
