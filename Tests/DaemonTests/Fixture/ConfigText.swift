// SPDX-License-Identifier: Apache-2.0

/// A configuration file to be written.
struct ConfigText {
    struct Receiver {
        var name: String
        var port: UInt16
        var weight = 1
    }

    struct Listener {
        var name: String
        var port: UInt16
        var address = "127.0.0.1"
        var balance = "round_robin"
        var receivers: [Receiver]
        /// Lines of `settings:`, such as `batch_size: 64`.
        var settings: [String] = []
        /// Further keys of the listener, such as `mode: userspace`.
        var more: [String] = []
    }

    var listeners: [Listener]
    /// nil = no metrics.
    var metricsPort: UInt16?
    var metricsAddress = "127.0.0.1"
    var metricsPath = "/metrics"
    /// One worker, and a buffer for the pauses of a test machine.
    var settings = ["workers: 1", "recv_buf_size: 8388608"]

    var yaml: String {
        var lines = ["listeners:"]
        for listener in listeners {
            lines += [
                "  - name: \(Self.quoted(listener.name))",
                "    bind: \"\(listener.address):\(listener.port)\"",
                "    balance: \(listener.balance)",
            ]
            lines += listener.more.map { "    \($0)" }
            lines += ["    downstream:"]
            for receiver in listener.receivers {
                lines += [
                    "      - name: \(Self.quoted(receiver.name))",
                    "        address: \"127.0.0.1:\(receiver.port)\"",
                    "        weight: \(receiver.weight)",
                ]
            }
            if !listener.settings.isEmpty {
                lines += ["    settings:"] + listener.settings.map { "      \($0)" }
            }
        }
        if !settings.isEmpty { lines += ["settings:"] + settings.map { "  \($0)" } }
        if let metricsPort {
            lines += [
                "metrics:", "  enabled: true", "  bind: \"\(metricsAddress):\(metricsPort)\"",
                "  path: \(metricsPath)",
            ]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func quoted(_ text: String) -> String {
        let inner = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(inner)\""
    }

    /// One listener `in` with receivers `r1`, `r2`… on `ports`; free ports elsewhere.
    static func simple(receivers ports: [UInt16]? = nil, metrics: Bool = false) throws -> ConfigText
    {
        let ports = try ports ?? [Ports.free(), Ports.free()]
        let receivers = ports.enumerated().map { Receiver(name: "r\($0 + 1)", port: $1) }
        return ConfigText(
            listeners: [Listener(name: "in", port: try Ports.free(), receivers: receivers)],
            metricsPort: metrics ? try Ports.free() : nil)
    }
}
