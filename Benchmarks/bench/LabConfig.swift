// SPDX-License-Identifier: Apache-2.0

/// A configuration of udp-fanout for the lab of veths.
enum LabConfig {
    /// Where the metrics are served, on the balancer's loopback.
    static let metricsPort = 9090

    /// - Parameters:
    ///   - mode: of the one listener.
    ///   - settings: its settings, a line each.
    ///   - more: further keys of it, a line each.
    static func yaml(mode: String, settings: [String] = [], more: [String] = []) -> String {
        var lines = [
            "listeners:",
            "  - name: \(DaemonConfig.listener)",
            "    bind: \(VethLab.service):\(VethLab.port)",
            "    mode: \(mode)",
        ]
        lines += more.map { "    \($0)" }
        // Mode userspace has no interface.
        if mode != "userspace" { lines.append("    interface: \(VethLab.ingress)") }
        lines += ["    balance: round_robin"]
        if !settings.isEmpty { lines += ["    settings:"] + settings.map { "      \($0)" } }
        lines.append("    downstream:")
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
