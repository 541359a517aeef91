// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// The reference of the metrics, generated from the catalogue of `/metrics`.
public enum MetricsReference {
    /// A page of Markdown.
    public static var markdown: String {
        """
        <!-- SPDX-License-Identifier: Apache-2.0 -->
        <!-- `make reference` writes this page from Sources/FanoutMetrics/Text/Metrics.swift. -->
        # Metrics reference

        This page lists the metrics of `/metrics`, in Prometheus' text format, for operators. Metrics of AF_XDP and of discovery
        appear only with a listener that uses them. Counters begin at 0 with the process or the listener.

        Accounting: `udp_fanout_packets_received_total` is the sum of `udp_fanout_packets_forwarded_total` and, over all
        reasons, `udp_fanout_packets_dropped_total`. It is exact once nothing is on its way through the daemon.

        `/healthz` returns 200, or 503 and the worker's name if a worker with waiting datagrams has made no progress for 10 s.
        `/readyz` returns 200 while every listener serves, else 503 and the reason.

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
        Metric.all.map { metric in
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.help) |"
        }.joined(separator: "\n")
    }

    private static var labels: String {
        labelMeanings.map { "| `\($0.label)` | \($0.meaning) |" }
            .joined(separator: "\n")
    }

    private static var reasons: String {
        DropReason.allCases.map { "| `\($0.rawValue)` | \($0.meaning) |" }.joined(separator: "\n")
    }

    /// The meaning of each label.
    public static let labelMeanings: [(label: String, meaning: String)] = [
        ("listener", "the listener's `name`"),
        ("mode", "its `mode`: " + words(of: ForwardingMode.self)),
        ("downstream", "the receiver's `name`"),
        (
            "reason",
            "of a drop see below; of a relist `start`, `changed`, `expired`, `future`, `broken`"
        ),
        ("interface", "the network interface, in modes af_xdp and xdp_nat"),
        ("queue", "the number of its receive queue"),
        (
            "event",
            "of AF_XDP sockets " + words(of: QueueCounters.KernelEvent.self)
                + "; of mode xdp_nat see [xdp-nat.md](../xdp-nat.md)"
        ),
        (
            "source",
            "what receivers are looked up in, such as `endpointslices:trading/udp-receivers`"
        ),
        (
            "state",
            "of an endpoint " + words(of: DiscoveredEndpoint.Readiness.self)
                + ", or why it cannot be one"
        ),
        ("code", "of an error: an HTTP status or a word"),
        (
            "result",
            "of a probe " + words(of: ProbeResult.self) + "; of a load `success`, `failure`"
        ),
        ("version", "the daemon's version"),
        ("kernel_modes", "whether the modes that run in the kernel are compiled in"),
    ]

    private static func words<Word: CaseIterable & RawRepresentable<String>>(
        of type: Word.Type
    ) -> String {
        type.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")
    }
}

extension DropReason {
    /// The reason as a clause after `because`.
    var meaning: String {
        switch self {
        case .noHealthy: "no receiver was ready"
        case .oversize: "it was longer than `max_packet_size`"
        case .familyMismatch:
            "its source could not be kept: client and receiver differ in address family"
        case .wouldBlock: "the send buffer was full (EAGAIN)"
        case .noBuffers: "the kernel was out of memory or queue space (ENOBUFS, ENOMEM)"
        case .refused: "no socket listens at the receiver (ECONNREFUSED)"
        case .unreachable:
            "there was no way to the receiver (ENETUNREACH, EHOSTUNREACH and the like)"
        case .messageTooLong: "the path to the receiver cannot carry so much (EMSGSIZE)"
        case .notPermitted: "a firewall or the socket forbids it (EPERM, EACCES)"
        case .sendError: "sending failed for another reason"
        case .ttlExpired: "its TTL or hop limit was used up, in a kernel mode"
        case .rewriteFailed: "the kernel refused to alter the packet, in a kernel mode"
        }
    }
}
