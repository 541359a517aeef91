// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The reference of the metrics, made from the catalog that `/metrics` goes by.
public enum MetricsReference {
    /// A page of Markdown.
    public static var markdown: String {
        """
        <!-- SPDX-License-Identifier: Apache-2.0 -->
        <!-- `make reference` writes this page from Sources/FanoutMetrics/Text. -->
        # Metrics reference

        What `/metrics` shows, in Prometheus' text format. A metric that has nothing to say is left out: those of AF_XDP
        without a listener of that mode, those of discovery without one that looks its receivers up. Counters begin at 0
        with the process or the listener.

        The ledger: `udp_fanout_packets_received_total` is the sum of `udp_fanout_packets_forwarded_total` and, over all
        reasons, `udp_fanout_packets_dropped_total`. It is exact once nothing is on its way through the daemon.

        `/healthz` answers 200 while the daemon does its work; when a worker has made no progress for 10 s, with datagrams
        waiting for it, it answers 503 and says which. `/readyz` answers 200 while every listener serves, else 503 and the
        reason.

        ## Metrics

        | metric | kind | labels | meaning |
        |---|---|---|---|
        \(rows)

        ## Labels

        | label | what it says |
        |---|---|
        \(labels)

        ## Drop reasons

        | reason | the datagram was not forwarded because |
        |---|---|
        \(reasons)

        """
    }

    private static var rows: String {
        MetricCatalog.allCases.map { metric in
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(metric.rawValue)` | \(metric.kind.rawValue) | \(labels) | \(metric.help) |"
        }.joined(separator: "\n")
    }

    private static var labels: String {
        MetricCatalog.labelMeanings.map { "| `\($0.label)` | \($0.meaning) |" }
            .joined(separator: "\n")
    }

    private static var reasons: String {
        DropReason.allCases.map { "| `\($0.rawValue)` | \($0.meaning) |" }.joined(separator: "\n")
    }
}
