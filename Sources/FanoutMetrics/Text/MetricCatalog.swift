// SPDX-License-Identifier: Apache-2.0

/// Every metric that `/metrics` can show. The raw value is the metric's name.
///
/// A case without samples at scrape time (no listener, say) is left out of the page; a case is never
/// there for something that nothing counts.
public enum MetricCatalog: String, CaseIterable, Hashable, Sendable {
    case packetsReceived = "udp_fanout_packets_received_total"
    case packetsForwarded = "udp_fanout_packets_forwarded_total"
    case packetsDropped = "udp_fanout_packets_dropped_total"
    case packetsNoHealthy = "udp_fanout_packets_no_healthy_total"
    case bytesReceived = "udp_fanout_bytes_received_total"
    case bytesForwarded = "udp_fanout_bytes_forwarded_total"
    case kernelDrops = "udp_fanout_kernel_drops_total"
    case repliesDropped = "udp_fanout_replies_dropped_total"
    case receiveCalls = "udp_fanout_receive_calls_total"
    case sendCalls = "udp_fanout_send_calls_total"
    case workers = "udp_fanout_workers"

    case afxdpReceiveRingEmpty = "udp_fanout_afxdp_rx_ring_empty_total"
    case afxdpFillRingFull = "udp_fanout_afxdp_fill_ring_full_total"
    case afxdpFramesExhausted = "udp_fanout_afxdp_frames_exhausted_total"
    case afxdpParseErrors = "udp_fanout_afxdp_parse_errors_total"
    case afxdpKernelSends = "udp_fanout_afxdp_kernel_sends_total"
    case afxdpKernelEvents = "udp_fanout_afxdp_kernel_events_total"
    case answersReceived = "udp_fanout_answers_received_total"
    case answersForwarded = "udp_fanout_answers_forwarded_total"
    case answersDropped = "udp_fanout_answers_dropped_total"
    case answerBytesReceived = "udp_fanout_answer_bytes_received_total"
    case answerBytesForwarded = "udp_fanout_answer_bytes_forwarded_total"
    case natEvents = "udp_fanout_nat_events_total"
    case xdpTransmitErrors = "udp_fanout_xdp_transmit_errors_total"

    case downstreamPacketsForwarded = "udp_fanout_downstream_packets_forwarded_total"
    case downstreamBytesForwarded = "udp_fanout_downstream_bytes_forwarded_total"
    case downstreamPacketsDropped = "udp_fanout_downstream_packets_dropped_total"
    case downstreamRefused = "udp_fanout_downstream_refused_total"
    case downstreamWeight = "udp_fanout_downstream_weight"
    case downstreamActive = "udp_fanout_downstream_active"
    case downstreamHealth = "udp_fanout_downstream_health"
    case healthProbes = "udp_fanout_health_probes_total"

    case discoveryEndpoints = "udp_fanout_discovery_endpoints"
    case discoverySyncAge = "udp_fanout_discovery_sync_age_seconds"
    case discoveryRelists = "udp_fanout_discovery_relists_total"
    case discoveryErrors = "udp_fanout_discovery_errors_total"
    case discoveryUnused = "udp_fanout_discovery_unused_receivers"

    case buildInfo = "udp_fanout_build_info"
    case startTime = "udp_fanout_start_time_seconds"
    case reloadSuccessful = "udp_fanout_config_last_reload_successful"
    case reloadSuccessTime = "udp_fanout_config_last_reload_success_timestamp_seconds"
    case reloads = "udp_fanout_config_reloads_total"
    case connectionsRefused = "udp_fanout_metrics_connections_refused_total"

    case processResidentMemory = "process_resident_memory_bytes"
    case processOpenFDs = "process_open_fds"
    case processCPU = "process_cpu_seconds_total"

    /// What the text format's TYPE line says.
    public enum Kind: String, Hashable, Sendable {
        /// Only grows; starts again at 0 with the process or with the listener.
        case counter
        /// A value of this moment.
        case gauge
    }

    public var kind: Kind {
        switch self {
        case .packetsReceived, .packetsForwarded, .packetsDropped, .packetsNoHealthy,
            .bytesReceived, .bytesForwarded, .kernelDrops, .repliesDropped, .receiveCalls,
            .sendCalls, .answersReceived, .answersForwarded, .answersDropped, .answerBytesReceived,
            .answerBytesForwarded, .natEvents, .xdpTransmitErrors,
            .downstreamPacketsForwarded, .downstreamBytesForwarded, .downstreamPacketsDropped,
            .downstreamRefused, .healthProbes, .discoveryRelists, .discoveryErrors, .reloads,
            .connectionsRefused, .processCPU, .afxdpReceiveRingEmpty, .afxdpFillRingFull,
            .afxdpFramesExhausted, .afxdpParseErrors, .afxdpKernelSends, .afxdpKernelEvents:
            .counter
        case .workers, .downstreamWeight, .downstreamActive, .downstreamHealth, .buildInfo,
            .discoveryEndpoints, .discoverySyncAge, .discoveryUnused, .startTime,
            .reloadSuccessful, .reloadSuccessTime, .processResidentMemory, .processOpenFDs:
            .gauge
        }
    }

    /// The names of its labels, in the order in which samples bear them.
    public var labels: [String] {
        switch self {
        case .packetsReceived, .packetsForwarded, .packetsNoHealthy, .bytesReceived,
            .bytesForwarded, .kernelDrops, .repliesDropped, .receiveCalls, .sendCalls, .workers,
            .answersReceived,
            .answersForwarded, .answerBytesReceived, .answerBytesForwarded:
            ["listener", "mode"]
        case .natEvents: ["event"]
        case .xdpTransmitErrors: ["interface"]
        case .packetsDropped, .answersDropped: ["listener", "mode", "reason"]
        case .downstreamPacketsForwarded, .downstreamBytesForwarded, .downstreamRefused,
            .downstreamWeight:
            ["listener", "mode", "downstream"]
        case .downstreamPacketsDropped: ["listener", "mode", "downstream", "reason"]
        case .afxdpReceiveRingEmpty, .afxdpFillRingFull, .afxdpFramesExhausted, .afxdpParseErrors,
            .afxdpKernelSends:
            ["interface", "queue"]
        case .afxdpKernelEvents: ["interface", "queue", "event"]
        case .downstreamActive: ["listener"]
        case .discoveryUnused: ["listener", "reason"]
        case .downstreamHealth: ["listener", "downstream"]
        case .buildInfo: ["version", "kernel_modes"]
        case .discoveryEndpoints: ["source", "state"]
        case .discoverySyncAge: ["source"]
        case .discoveryRelists: ["source", "reason"]
        case .discoveryErrors: ["source", "code"]
        case .healthProbes, .reloads: ["result"]
        case .startTime, .reloadSuccessful, .reloadSuccessTime, .connectionsRefused,
            .processResidentMemory, .processOpenFDs, .processCPU:
            []
        }
    }
}
