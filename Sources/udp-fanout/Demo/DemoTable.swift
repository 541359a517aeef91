// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The demo's table: the counts of each receiver.
struct DemoTable {
    /// One receiver at one moment.
    struct Row: Equatable {
        let name: String
        let endpoint: Endpoint
        let datagrams: UInt64
        /// Datagrams a second since the previous table.
        let rate: UInt64
    }

    let rows: [Row]
    let sent: UInt64
    let counters: ListenerCounters

    /// For a terminal: lines of constant width, to be redrawn in place.
    var lines: [String] {
        let total = max(1, rows.map(\.datagrams).reduce(0, +))
        let head = line("receiver", "address", "datagrams", "share", "per second")
        let body = rows.map { row in
            let tenths = (row.datagrams * 1000 + total / 2) / total
            return line(
                row.name, "\(row.endpoint)", "\(row.datagrams)",
                "\(tenths / 10).\(tenths % 10) %", "\(row.rate)")
        }
        return [head] + body + ["", accounting]
    }

    /// For a pipe: everything in one line.
    var plain: String {
        rows.map { "\($0.name)=\($0.datagrams)" }.joined(separator: " ") + "  " + accounting
    }

    private var accounting: String {
        "sent \(sent)  received \(counters.packetsReceived)  "
            + "forwarded \(counters.packetsForwarded)  dropped \(counters.packetsDropped)"
    }

    private func line(
        _ name: String, _ address: String, _ datagrams: String, _ share: String, _ rate: String
    ) -> String {
        func left(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: max(1, width - text.count))
        }
        func right(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(1, width - text.count)) + text
        }
        return left(name, 12) + left(address, 20) + right(datagrams, 10) + right(share, 10)
            + right(rate, 12)
    }
}
