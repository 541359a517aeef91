// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// A configuration of udp-fanout for one run.
struct DaemonConfig {
    /// The name of the listener, which labels its metrics.
    static let listener = "bench"

    let port: Int
    let sinks: [Int]
    /// The port of the metrics; nil: no metrics, the default.
    var metricsPort: Int?
    /// One worker with a large buffer, as the references have; without it all is at its default.
    var likeTheReferences = false

    /// Writes the file into a folder and returns the command that starts the daemon with it.
    func command(_ daemon: String, folder: URL) throws -> [String] {
        try Self.command(daemon, yaml, folder: folder)
    }

    /// The same with any configuration.
    static func command(_ daemon: String, _ yaml: String, folder: URL) throws -> [String] {
        let file = folder.appending(path: "config-\(UUID().uuidString).yaml")
        try Data(yaml.utf8).write(to: file)
        return [daemon, "--config", file.path, "--log-level", "warn"]
    }

    private var yaml: String {
        var lines = [
            "listeners:",
            "  - name: \(Self.listener)",
            "    bind: 127.0.0.1:\(port)",
            "    mode: userspace",
            "    balance: round_robin",
        ]
        if likeTheReferences {
            lines += ["    settings:", "      workers: 1", "      recv_buf_size: 8388608"]
        }
        lines.append("    downstream:")
        for (index, sink) in sinks.enumerated() {
            lines += ["      - name: sink-\(index + 1)", "        address: 127.0.0.1:\(sink)"]
        }
        if let metricsPort {
            lines += ["metrics:", "  enabled: true", "  bind: 127.0.0.1:\(metricsPort)"]
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
