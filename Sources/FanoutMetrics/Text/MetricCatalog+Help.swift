// SPDX-License-Identifier: Apache-2.0

extension MetricCatalog {
    /// What the text format's HELP line says: one sentence, without backslash or newline.
    public var help: String {
        switch self {
        case .packetsReceived: "Datagrams received."
        case .packetsForwarded: "Datagrams handed to the kernel for a downstream."
        case .packetsDropped:
            "Datagrams received but not forwarded, by reason; "
                + "received = forwarded + the sum over all reasons."
        case .packetsNoHealthy:
            "Datagrams dropped because no downstream was ready; also counted as "
                + "udp_fanout_packets_dropped_total{reason=no_healthy}."
        case .bytesReceived: "UDP payload bytes received."
        case .bytesForwarded: "UDP payload bytes handed to the kernel for a downstream."
        case .kernelDrops:
            "Datagrams that the kernel threw away before they could be received "
                + "(socket buffer full or checksum wrong); no part of received."
        case .repliesDropped:
            "Datagrams that receivers sent back and that the kernel dropped, since the listener "
                + "forwards one way; no part of received."
        case .receiveCalls: "Receive calls that returned at least one datagram."
        case .sendCalls: "Send calls."
        case .workers: "Worker threads of the listener."
        case .afxdpReceiveRingEmpty:
            "Looks at the queue's receive ring that found nothing, of the worker in mode af_xdp."
        case .afxdpFillRingFull:
            "Times that frames were left over because the queue's fill ring had no room for them."
        case .afxdpFramesExhausted:
            "Times that every frame was in use when the kernel needed some to receive into."
        case .afxdpParseErrors:
            "Packets that the XDP program steered to the queue's worker and that are no datagram "
                + "for a listener; no part of received."
        case .afxdpKernelSends:
            "Datagrams that the kernel sent, since no transmit ring led to their receiver; part of "
                + "forwarded."
        case .afxdpKernelEvents:
            "What the kernel counted at the queue's AF_XDP sockets (XDP_STATISTICS), by event; "
                + "packets lost there are no part of received."
        case .answersReceived: "Packets of servers for clients, in mode xdp_nat."
        case .answersForwarded: "Packets of servers that were sent on to clients."
        case .answersDropped:
            "Packets of servers for clients that were not sent on, by reason; "
                + "received = forwarded + the sum over all reasons."
        case .answerBytesReceived: "Payload bytes of servers' packets for clients."
        case .answerBytesForwarded: "Payload bytes of servers' packets sent on to clients."
        case .natEvents: "What became of packets at the interfaces of mode xdp_nat."
        case .xdpTransmitErrors:
            "Packets of mode xdp_nat, counted as forwarded, that the driver of the interface did not "
                + "send."
        case .downstreamPacketsForwarded: "Datagrams handed to the kernel for this downstream."
        case .downstreamBytesForwarded:
            "UDP payload bytes handed to the kernel for this downstream."
        case .downstreamPacketsDropped:
            "Datagrams meant for this downstream that were not sent, by reason."
        case .downstreamRefused:
            "ICMP errors that came back from this downstream: nothing listens there, or a firewall "
                + "rejects datagrams; about datagrams already counted as forwarded."
        case .downstreamWeight:
            "Share of new traffic relative to the listener's other downstreams; 0 = draining."
        case .downstreamActive:
            "Downstreams of the listener that get new traffic: a weight above 0, and not disabled "
                + "by health checks."
        case .downstreamHealth:
            "Whether the downstream is healthy (1 or 0) by its probes and refusals; without health checks there "
                + "is no sample."
        case .healthProbes:
            "Health probes that are over, by result; error = not sent for a reason of this host."
        case .discoveryEndpoints:
            "Endpoints that the source knows, by state; fqdn, no_port and bad_address cannot receive."
        case .discoverySyncAge:
            "Seconds since the source last confirmed what is known, or since it began; an idle "
                + "Kubernetes watch is confirmed once a minute."
        case .discoveryRelists: "How often the source has read everything anew, by reason."
        case .discoveryErrors: "What went wrong at the source, by code; what is known stays in use."
        case .discoveryUnused:
            "Receivers found for the listener and not used, by reason."
        case .buildInfo: "Always 1; the labels describe the build."
        case .startTime: "When the daemon started, in seconds since 1970-01-01 UTC."
        case .reloadSuccessful: "Whether the last reload of the configuration succeeded (1 or 0)."
        case .reloadSuccessTime:
            "When a configuration was last taken into force, in seconds since 1970-01-01 UTC."
        case .reloads:
            "Loads of the configuration, by result; the one at start-up is the first success."
        case .connectionsRefused:
            "Connections to the metrics port that were closed because too many were open."
        case .processResidentMemory: "Resident memory size in bytes."
        case .processOpenFDs: "Open file descriptors."
        case .processCPU: "User and system CPU time spent, in seconds."
        }
    }
}
