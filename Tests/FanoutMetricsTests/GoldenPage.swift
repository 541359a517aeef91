// SPDX-License-Identifier: Apache-2.0

/// The page of one listener with one downstream, byte for byte.
// swift-format-ignore
let goldenPage = #"""
    # HELP udp_fanout_packets_received_total Datagrams received.
    # TYPE udp_fanout_packets_received_total counter
    udp_fanout_packets_received_total{listener="syslog",mode="userspace"} 100
    # HELP udp_fanout_packets_forwarded_total Datagrams handed to the kernel for a downstream.
    # TYPE udp_fanout_packets_forwarded_total counter
    udp_fanout_packets_forwarded_total{listener="syslog",mode="userspace"} 90
    # HELP udp_fanout_packets_dropped_total Datagrams received but not forwarded, by reason; received = forwarded + the sum over all reasons.
    # TYPE udp_fanout_packets_dropped_total counter
    udp_fanout_packets_dropped_total{listener="syslog",mode="userspace",reason="no_healthy"} 7
    udp_fanout_packets_dropped_total{listener="syslog",mode="userspace",reason="oversize"} 0
    udp_fanout_packets_dropped_total{listener="syslog",mode="userspace",reason="family_mismatch"} 0
    udp_fanout_packets_dropped_total{listener="syslog",mode="userspace",reason="would_block"} 0
    udp_fanout_packets_dropped_total{listener="syslog",mode="userspace",reason="no_buffers"} 3
    udp_fanout_packets_dropped_total{listener="syslog",mode="userspace",reason="refused"} 0
    udp_fanout_packets_dropped_total{listener="syslog",mode="userspace",reason="unreachable"} 0
    udp_fanout_packets_dropped_total{listener="syslog",mode="userspace",reason="message_too_long"} 0
    udp_fanout_packets_dropped_total{listener="syslog",mode="userspace",reason="not_permitted"} 0
    udp_fanout_packets_dropped_total{listener="syslog",mode="userspace",reason="send_error"} 0
    udp_fanout_packets_dropped_total{listener="syslog",mode="userspace",reason="ttl_expired"} 0
    udp_fanout_packets_dropped_total{listener="syslog",mode="userspace",reason="rewrite_failed"} 0
    # HELP udp_fanout_packets_no_healthy_total Datagrams dropped because no downstream was ready; also counted as udp_fanout_packets_dropped_total{reason=no_healthy}.
    # TYPE udp_fanout_packets_no_healthy_total counter
    udp_fanout_packets_no_healthy_total{listener="syslog",mode="userspace"} 7
    # HELP udp_fanout_bytes_received_total UDP payload bytes received.
    # TYPE udp_fanout_bytes_received_total counter
    udp_fanout_bytes_received_total{listener="syslog",mode="userspace"} 6400
    # HELP udp_fanout_bytes_forwarded_total UDP payload bytes handed to the kernel for a downstream.
    # TYPE udp_fanout_bytes_forwarded_total counter
    udp_fanout_bytes_forwarded_total{listener="syslog",mode="userspace"} 5760
    # HELP udp_fanout_kernel_drops_total Datagrams that the kernel dropped before receipt (socket buffer full or wrong checksum); not part of received.
    # TYPE udp_fanout_kernel_drops_total counter
    udp_fanout_kernel_drops_total{listener="syslog",mode="userspace"} 11
    # HELP udp_fanout_replies_dropped_total Replies of receivers that the kernel dropped because the listener is one-way; not part of received.
    # TYPE udp_fanout_replies_dropped_total counter
    udp_fanout_replies_dropped_total{listener="syslog",mode="userspace"} 14
    # HELP udp_fanout_receive_calls_total Receive calls that returned at least one datagram.
    # TYPE udp_fanout_receive_calls_total counter
    udp_fanout_receive_calls_total{listener="syslog",mode="userspace"} 12
    # HELP udp_fanout_send_calls_total Send calls.
    # TYPE udp_fanout_send_calls_total counter
    udp_fanout_send_calls_total{listener="syslog",mode="userspace"} 13
    # HELP udp_fanout_workers Worker threads of the listener.
    # TYPE udp_fanout_workers gauge
    udp_fanout_workers{listener="syslog",mode="userspace"} 2
    # HELP udp_fanout_afxdp_rx_ring_empty_total Polls of the queue's receive ring that found it empty, in mode af_xdp.
    # TYPE udp_fanout_afxdp_rx_ring_empty_total counter
    udp_fanout_afxdp_rx_ring_empty_total{interface="eth0",queue="3"} 21
    # HELP udp_fanout_afxdp_fill_ring_full_total Refills that found the queue's fill ring full.
    # TYPE udp_fanout_afxdp_fill_ring_full_total counter
    udp_fanout_afxdp_fill_ring_full_total{interface="eth0",queue="3"} 22
    # HELP udp_fanout_afxdp_frames_exhausted_total Refills that found no free frame.
    # TYPE udp_fanout_afxdp_frames_exhausted_total counter
    udp_fanout_afxdp_frames_exhausted_total{interface="eth0",queue="3"} 23
    # HELP udp_fanout_afxdp_parse_errors_total Packets that the XDP program steered to the queue's worker but that are for no listener; not part of received.
    # TYPE udp_fanout_afxdp_parse_errors_total counter
    udp_fanout_afxdp_parse_errors_total{interface="eth0",queue="3"} 24
    # HELP udp_fanout_afxdp_kernel_sends_total Datagrams that the kernel sent, because no transmit ring led to their receiver; part of forwarded.
    # TYPE udp_fanout_afxdp_kernel_sends_total counter
    udp_fanout_afxdp_kernel_sends_total{interface="eth0",queue="3"} 27
    # HELP udp_fanout_afxdp_kernel_events_total Events that the kernel counted at the queue's AF_XDP sockets (XDP_STATISTICS); packets lost there are not part of received.
    # TYPE udp_fanout_afxdp_kernel_events_total counter
    udp_fanout_afxdp_kernel_events_total{interface="eth0",queue="3",event="rx_dropped"} 25
    udp_fanout_afxdp_kernel_events_total{interface="eth0",queue="3",event="rx_ring_full"} 26
    udp_fanout_afxdp_kernel_events_total{interface="eth0",queue="3",event="rx_fill_ring_empty"} 0
    udp_fanout_afxdp_kernel_events_total{interface="eth0",queue="3",event="rx_invalid"} 0
    udp_fanout_afxdp_kernel_events_total{interface="eth0",queue="3",event="tx_invalid"} 0
    udp_fanout_afxdp_kernel_events_total{interface="eth0",queue="3",event="tx_ring_empty"} 0
    # HELP udp_fanout_downstream_packets_forwarded_total Datagrams handed to the kernel for this downstream.
    # TYPE udp_fanout_downstream_packets_forwarded_total counter
    udp_fanout_downstream_packets_forwarded_total{listener="syslog",mode="userspace",downstream="r1"} 90
    # HELP udp_fanout_downstream_bytes_forwarded_total UDP payload bytes handed to the kernel for this downstream.
    # TYPE udp_fanout_downstream_bytes_forwarded_total counter
    udp_fanout_downstream_bytes_forwarded_total{listener="syslog",mode="userspace",downstream="r1"} 5760
    # HELP udp_fanout_downstream_packets_dropped_total Datagrams meant for this downstream that were not sent, by reason; a reason appears with the first drop.
    # TYPE udp_fanout_downstream_packets_dropped_total counter
    udp_fanout_downstream_packets_dropped_total{listener="syslog",mode="userspace",downstream="r1",reason="no_buffers"} 3
    # HELP udp_fanout_downstream_refused_total ICMP errors from this downstream: no socket listens there, or a firewall rejects datagrams; they are about datagrams already counted as forwarded.
    # TYPE udp_fanout_downstream_refused_total counter
    udp_fanout_downstream_refused_total{listener="syslog",mode="userspace",downstream="r1"} 4
    # HELP udp_fanout_downstream_weight Share of new traffic relative to the listener's other downstreams; 0 = draining.
    # TYPE udp_fanout_downstream_weight gauge
    udp_fanout_downstream_weight{listener="syslog",mode="userspace",downstream="r1"} 5
    # HELP udp_fanout_downstream_active Downstreams of the listener that get new traffic: a weight above 0, and not disabled by health checks.
    # TYPE udp_fanout_downstream_active gauge
    udp_fanout_downstream_active{listener="syslog"} 1
    # HELP udp_fanout_downstream_health Whether the downstream is healthy (1 or 0) by its probes and refusals; without health checks there is no sample.
    # TYPE udp_fanout_downstream_health gauge
    udp_fanout_downstream_health{listener="syslog",downstream="r1"} 0
    # HELP udp_fanout_health_probes_total Completed health probes, by result; error = this host could not send it.
    # TYPE udp_fanout_health_probes_total counter
    udp_fanout_health_probes_total{result="success"} 5
    udp_fanout_health_probes_total{result="timeout"} 0
    udp_fanout_health_probes_total{result="refused"} 3
    udp_fanout_health_probes_total{result="unreachable"} 0
    udp_fanout_health_probes_total{result="wrong_answer"} 0
    udp_fanout_health_probes_total{result="error"} 0
    # HELP udp_fanout_discovery_endpoints Endpoints that the source knows, by state; fqdn, no_port and bad_address cannot receive.
    # TYPE udp_fanout_discovery_endpoints gauge
    udp_fanout_discovery_endpoints{source="endpointslices:n/s",state="ready"} 3
    # HELP udp_fanout_discovery_sync_age_seconds Seconds since the source last confirmed its receivers, or since its start; an idle Kubernetes watch is confirmed once a minute.
    # TYPE udp_fanout_discovery_sync_age_seconds gauge
    udp_fanout_discovery_sync_age_seconds{source="endpointslices:n/s"} 1.5
    # HELP udp_fanout_discovery_relists_total Full reads of the source, by reason.
    # TYPE udp_fanout_discovery_relists_total counter
    udp_fanout_discovery_relists_total{source="endpointslices:n/s",reason="start"} 1
    # HELP udp_fanout_discovery_errors_total Errors of the source, by code; the last-known receivers stay in use.
    # TYPE udp_fanout_discovery_errors_total counter
    udp_fanout_discovery_errors_total{source="endpointslices:n/s",code="401"} 2
    # HELP udp_fanout_discovery_unused_receivers Receivers found for the listener and not used, by reason.
    # TYPE udp_fanout_discovery_unused_receivers gauge
    udp_fanout_discovery_unused_receivers{listener="syslog",reason="surplus"} 4
    udp_fanout_discovery_unused_receivers{listener="syslog",reason="loop"} 0
    udp_fanout_discovery_unused_receivers{listener="syslog",reason="shared"} 0
    udp_fanout_discovery_unused_receivers{listener="syslog",reason="unsuitable"} 0
    # HELP udp_fanout_build_info Always 1; the labels describe the build.
    # TYPE udp_fanout_build_info gauge
    udp_fanout_build_info{version="1.2.3",kernel_modes="true"} 1
    # HELP udp_fanout_start_time_seconds When the daemon started, in seconds since 1970-01-01 UTC.
    # TYPE udp_fanout_start_time_seconds gauge
    udp_fanout_start_time_seconds 1600000000
    # HELP udp_fanout_config_last_reload_successful Whether the last reload of the configuration succeeded (1 or 0).
    # TYPE udp_fanout_config_last_reload_successful gauge
    udp_fanout_config_last_reload_successful 0
    # HELP udp_fanout_config_last_reload_success_timestamp_seconds When a configuration was last applied, in seconds since 1970-01-01 UTC.
    # TYPE udp_fanout_config_last_reload_success_timestamp_seconds gauge
    udp_fanout_config_last_reload_success_timestamp_seconds 1700000000.25
    # HELP udp_fanout_config_reloads_total Loads of the configuration, by result; the one at start-up is the first success.
    # TYPE udp_fanout_config_reloads_total counter
    udp_fanout_config_reloads_total{result="failure"} 1
    udp_fanout_config_reloads_total{result="success"} 3
    # HELP udp_fanout_metrics_connections_refused_total Connections to the metrics port that were closed because too many were open.
    # TYPE udp_fanout_metrics_connections_refused_total counter
    udp_fanout_metrics_connections_refused_total 9
    # HELP process_start_time_seconds When the process started, in seconds since 1970-01-01 UTC.
    # TYPE process_start_time_seconds gauge
    process_start_time_seconds 1700000000.25
    # HELP process_cpu_seconds_total User and system CPU time spent, in seconds.
    # TYPE process_cpu_seconds_total counter
    process_cpu_seconds_total 1.5
    # HELP process_resident_memory_bytes Resident memory size in bytes.
    # TYPE process_resident_memory_bytes gauge
    process_resident_memory_bytes 4096
    # HELP process_virtual_memory_bytes Virtual memory size in bytes.
    # TYPE process_virtual_memory_bytes gauge
    process_virtual_memory_bytes 8192
    # HELP process_open_fds Open file descriptors.
    # TYPE process_open_fds gauge
    process_open_fds 5
    # HELP process_max_fds Limit of open file descriptors.
    # TYPE process_max_fds gauge
    process_max_fds 1024

    """#
