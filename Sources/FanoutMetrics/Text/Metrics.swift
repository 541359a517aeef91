// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// A metric of `/metrics`. Its line in `Metric.all` drives the exposition with HELP and TYPE, the reference, and the
/// tests of dashboards and alerts.
public struct Metric: Sendable {
    /// The type for the TYPE line.
    public enum Kind: String, Hashable, Sendable {
        /// Only increases; restarts at 0 with the process or the listener.
        case counter
        /// A current value.
        case gauge
    }

    public let name: String
    public let kind: Kind
    /// The HELP line: one sentence, without backslash or newline.
    public let help: String
    let samples: MetricSamples

    /// The names of its labels, in sample order.
    public var labels: [String] { samples.labels }

    private static func counter(
        _ name: String, _ samples: MetricSamples, _ help: String
    ) -> Metric { Metric(name: name, kind: .counter, help: help, samples: samples) }

    private static func gauge(
        _ name: String, _ samples: MetricSamples, _ help: String
    ) -> Metric { Metric(name: name, kind: .gauge, help: help, samples: samples) }

    /// The metric of this name.
    public static func named(_ name: String) -> Metric? { byName[name] }

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// Every metric, in the order of the page. A metric without samples is left out.
    public static let all: [Metric] = [
        .counter(
            "udp_fanout_packets_received_total", .listener { $0.packetsReceived },
            "Datagrams received."),
        .counter(
            "udp_fanout_packets_forwarded_total", .listener { $0.packetsForwarded },
            "Datagrams handed to the kernel for a downstream."),
        .counter(
            "udp_fanout_packets_dropped_total", .listenerReasons { $0.drops },
            "Datagrams received but not forwarded, by reason; "
                + "received = forwarded + the sum over all reasons."),
        .counter(
            "udp_fanout_packets_no_healthy_total", .listener { $0.drops[.noHealthy] ?? 0 },
            "Datagrams dropped because no downstream was ready; also counted as "
                + "udp_fanout_packets_dropped_total{reason=no_healthy}."),
        .counter(
            "udp_fanout_bytes_received_total", .listener { $0.bytesReceived },
            "UDP payload bytes received."),
        .counter(
            "udp_fanout_bytes_forwarded_total", .listener { $0.bytesForwarded },
            "UDP payload bytes handed to the kernel for a downstream."),
        .counter(
            "udp_fanout_kernel_drops_total", .listener { $0.kernelDrops },
            "Datagrams that the kernel dropped before receipt (socket buffer full or wrong "
                + "checksum); not part of received."),
        .counter(
            "udp_fanout_replies_dropped_total", .listener { $0.repliesDropped },
            "Replies of receivers that the kernel dropped because the listener is one-way; "
                + "not part of received."),
        .counter(
            "udp_fanout_receive_calls_total", .listener { $0.receiveCalls },
            "Receive calls that returned at least one datagram."),
        .counter("udp_fanout_send_calls_total", .listener { $0.sendCalls }, "Send calls."),
        .gauge(
            "udp_fanout_workers", .listener { UInt64(clamping: $0.workers) },
            "Worker threads of the listener."),

        .counter(
            "udp_fanout_afxdp_rx_ring_empty_total", .queue { $0.receiveRingEmpty },
            "Polls of the queue's receive ring that found it empty, in mode af_xdp."),
        .counter(
            "udp_fanout_afxdp_fill_ring_full_total", .queue { $0.fillRingFull },
            "Refills that found the queue's fill ring full."
        ),
        .counter(
            "udp_fanout_afxdp_frames_exhausted_total", .queue { $0.framesExhausted },
            "Refills that found no free frame."),
        .counter(
            "udp_fanout_afxdp_parse_errors_total", .queue { $0.parseErrors },
            "Packets that the XDP program steered to the queue's worker but that are for no "
                + "listener; not part of received."),
        .counter(
            "udp_fanout_afxdp_kernel_sends_total", .queue { $0.kernelSends },
            "Datagrams that the kernel sent, because no transmit ring led to their "
                + "receiver; part of forwarded."),
        .counter(
            "udp_fanout_afxdp_kernel_events_total", .queueEvents,
            "Events that the kernel counted at the queue's AF_XDP sockets (XDP_STATISTICS); "
                + "packets lost there are not part of received."),
        .counter(
            "udp_fanout_answers_received_total", .listener { $0.replies?.packetsReceived },
            "Packets of servers for clients, in mode xdp_nat."),
        .counter(
            "udp_fanout_answers_forwarded_total", .listener { $0.replies?.packetsForwarded },
            "Packets of servers that were sent on to clients."),
        .counter(
            "udp_fanout_answers_dropped_total", .listenerReasons { $0.replies?.drops },
            "Packets of servers for clients that were not sent on, by reason; "
                + "received = forwarded + the sum over all reasons."),
        .counter(
            "udp_fanout_answer_bytes_received_total", .listener { $0.replies?.bytesReceived },
            "Payload bytes of servers' packets for clients."),
        .counter(
            "udp_fanout_answer_bytes_forwarded_total", .listener { $0.replies?.bytesForwarded },
            "Payload bytes of servers' packets sent on to clients."),
        .counter(
            "udp_fanout_nat_events_total", .words("event") { $0.snapshot.events },
            "Packets at the interfaces of mode xdp_nat, by outcome."),
        .counter(
            "udp_fanout_xdp_transmit_errors_total",
            .words("interface") { $0.snapshot.transmitErrors },
            "Packets of mode xdp_nat, counted as forwarded, that the driver of the interface did not "
                + "send."),

        .counter(
            "udp_fanout_hook_restores_total", .attachments { $0.restores },
            "Programs attached again after another process had detached them."),

        .counter(
            "udp_fanout_downstream_packets_forwarded_total", .downstream { $0.packetsForwarded },
            "Datagrams handed to the kernel for this downstream."),
        .counter(
            "udp_fanout_downstream_bytes_forwarded_total", .downstream { $0.bytesForwarded },
            "UDP payload bytes handed to the kernel for this downstream."),
        .counter(
            "udp_fanout_downstream_packets_dropped_total", .downstreamReasons,
            "Datagrams meant for this downstream that were not sent, by reason; a reason appears "
                + "with the first drop."),
        .counter(
            "udp_fanout_downstream_refused_total", .downstream { $0.refusals },
            "ICMP errors from this downstream: no socket listens there, or a firewall "
                + "rejects datagrams; they are about datagrams already counted as forwarded."),
        .gauge(
            "udp_fanout_downstream_weight", .downstream { UInt64($0.weight) },
            "Share of new traffic relative to the listener's other downstreams; 0 = draining."),
        .gauge(
            "udp_fanout_downstream_active", .readyReceivers,
            "Downstreams of the listener that get new traffic: a weight above 0, and not disabled "
                + "by health checks."),
        .gauge(
            "udp_fanout_downstream_health", .health,
            "Whether the downstream is healthy (1 or 0) by its probes and refusals; without health checks there "
                + "is no sample."),
        .counter(
            "udp_fanout_health_probes_total", .probes,
            "Completed health probes, by result; error = this host could not send it."),

        .gauge(
            "udp_fanout_discovery_endpoints",
            .sources("state") { $0.endpoints.mapValues { UInt64($0) } },
            "Endpoints that the source knows, by state; fqdn, no_port and bad_address cannot receive."
        ),
        .gauge(
            "udp_fanout_discovery_sync_age_seconds", .syncAge,
            "Seconds since the source last confirmed its receivers, or since its start; an "
                + "idle Kubernetes watch is confirmed once a minute."),
        .counter(
            "udp_fanout_discovery_relists_total", .sources("reason") { $0.status.relists },
            "Full reads of the source, by reason."),
        .counter(
            "udp_fanout_discovery_errors_total", .sources("code") { $0.status.errors },
            "Errors of the source, by code; the last-known receivers stay in use."),
        .gauge(
            "udp_fanout_discovery_unused_receivers", .unusedReceivers,
            "Receivers found for the listener and not used, by reason."),

        .gauge(
            "udp_fanout_build_info", .build, "Always 1; the labels describe the build."),
        .gauge(
            "udp_fanout_start_time_seconds", .single { $0.snapshot.startTimeSeconds },
            "When the daemon started, in seconds since 1970-01-01 UTC."),
        .gauge(
            "udp_fanout_config_last_reload_successful",
            .single { $0.snapshot.reload.lastSuccessful ? 1 : 0 },
            "Whether the last reload of the configuration succeeded (1 or 0)."),
        .gauge(
            "udp_fanout_config_last_reload_success_timestamp_seconds",
            .single { $0.snapshot.reload.lastSuccessTimestampSeconds },
            "When a configuration was last applied, in seconds since 1970-01-01 UTC."),
        .counter(
            "udp_fanout_config_reloads_total",
            .words("result") {
                ["success": $0.snapshot.reload.successes, "failure": $0.snapshot.reload.failures]
            }, "Loads of the configuration, by result; the one at start-up is the first success."),
        .counter(
            "udp_fanout_metrics_connections_refused_total",
            .single { Double($0.server.connectionsRefused) },
            "Connections to the metrics port that were closed because too many were open."),

        .gauge(
            "process_start_time_seconds", .single { $0.process?.startTimeSeconds },
            "When the process started, in seconds since 1970-01-01 UTC."),
        .counter(
            "process_cpu_seconds_total", .single { $0.process?.cpuSeconds },
            "User and system CPU time spent, in seconds."),
        .gauge(
            "process_resident_memory_bytes",
            .single { ($0.process?.residentBytes).map { Double($0) } },
            "Resident memory size in bytes."),
        .gauge(
            "process_virtual_memory_bytes",
            .single { ($0.process?.virtualBytes).map { Double($0) } },
            "Virtual memory size in bytes."),
        .gauge(
            "process_open_fds", .single { ($0.process?.openFDs).map { Double($0) } },
            "Open file descriptors."),
        .gauge(
            "process_max_fds", .single { ($0.process?.maxFDs).map { Double($0) } },
            "Limit of open file descriptors."),
    ]
}
