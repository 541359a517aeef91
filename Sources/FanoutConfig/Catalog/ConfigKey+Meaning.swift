// SPDX-License-Identifier: Apache-2.0

extension ConfigKey {
    /// What the key is for, in one line.
    public var meaning: String {
        switch self {
        case .listeners: "The addresses on which datagrams arrive, and who receives them."
        case .settings: "Knobs of every listener."
        case .health: "Whether and how downstreams are probed."
        case .metrics: "The HTTP server that Prometheus scrapes."
        case .control: "The unix socket that udp-fanout status and its like talk to."
        case .listenerName: "Unique name; the metric label listener."
        case .listenerBind: "Address and port that datagrams are sent to."
        case .listenerVIP: "Address that clients of xdp_nat know, in place of bind."
        case .listenerPorts: "Ports at that address; receivers are met at the same ones."
        case .listenerProtocol: "What xdp_nat translates."
        case .listenerOneArm:
            "Whether clients and receivers of xdp_nat are behind one gateway; else routes decide."
        case .listenerMaxAssociations:
            "Clients that xdp_nat remembers, rounded up to a power of two."
        case .listenerUnanswered:
            "Whether xdp_nat keeps clients that nobody answered apart from the others."
        case .listenerMode: "Which data plane carries the datagrams."
        case .listenerBalance:
            "Who receives what; roundrobin and iphash are read as round_robin and source_ip."
        case .listenerPreserveSource: "Whether receivers see the client's address and port."
        case .listenerInterface: "The interface that a kernel mode hooks into."
        case .listenerAddresses:
            "Further destinations that a kernel mode serves; any = every destination on the port."
        case .listenerDownstream: "The receivers."
        case .listenerKubernetes: "The service whose ready endpoints are the receivers."
        case .listenerFile: "A file in which the receivers stand; it is read again when it changes."
        case .listenerDNS: "A name that stands for the receivers."
        case .listenerSettings: "Knobs of this listener; each key overrides the one at the top."
        case .downstreamName: "Name, unique within the listener; the metric label downstream."
        case .downstreamAddress: "Address and port of the receiver, unique within the listener."
        case .downstreamWeight: "Share of new traffic relative to the others; 0 = draining."
        case .downstreamMAC: "Legacy: checked, then ignored; the next hop comes from the routes."
        case .kubernetesNamespace: "Namespace of the service."
        case .kubernetesService: "Name of the service (label kubernetes.io/service-name)."
        case .kubernetesPort: "Port of each endpoint, by number or by name."
        case .kubernetesVIP:
            "Whether the load balancer's addresses of the service join those of the listener."
        case .filePath:
            "Path of the file, from the working directory unless it begins with a slash: an address, or "
                + "address:port, a line; below [Real Servers] if it is INI."
        case .filePort: "Port of receivers without one."
        case .dnsName: "The whole name; search domains are not appended."
        case .dnsPort: "Port of every address of the name; without it the name has SRV records."
        case .dnsServer: "Address and port of the server to ask."
        case .maxPacketSize:
            "Longest datagram that is forwarded, payload bytes; a longer one is dropped."
        case .maxDownstream: "How many downstreams a listener may have."
        case .batchSize:
            "Messages that one receive call takes at first; up to 512, or this if more, while messages wait."
        case .workers: "Worker threads of each listener; 0 = one per CPU."
        case .pinCPUs: "Whether each worker stays on one CPU."
        case .receiveBuffer: "Receive buffer of each socket in bytes; 0 = the system's default."
        case .sharePort: "Whether to join an address that another process already serves."
        case .steer:
            "Who chooses the worker of a datagram: its source address, or the kernel flow by flow."
        case .tcAttach: "How tc_ebpf hooks into the interface; auto = tcx where the kernel has it."
        case .seed:
            "Mixed into the hash of source_ip and four_tuple; hosts with one seed choose alike."
        case .xdpMode:
            "Where af_xdp and xdp_nat meet packets: native = in the driver, skb = in the network stack."
        case .busyPoll: "Whether workers of af_xdp poll all the time rather than sleep."
        case .slowStart:
            "Seconds over which the share of a receiver rises that comes or is healthy again; 0 = at once."
        case .keepCapabilities:
            "Capabilities that the process keeps after the start although nothing needs them yet, for later reloads."
        case .healthEnabled: "Whether downstreams are probed."
        case .healthInterval: "Seconds from one probe of a downstream to the next."
        case .healthTimeout: "Seconds that an answer may take; at most interval_secs."
        case .healthProtocol:
            "What a probe is: an ICMP echo request, a datagram to be echoed, a datagram, a connection."
        case .healthPort: "Port that probes go to, if it is not the downstream's own; not for icmp."
        case .healthPayload: #"What a probe of protocol udp sends; \xHH in it is a byte."#
        case .healthPayloadPreset:
            "The same by name: a request that servers of a protocol answer, or an empty datagram."
        case .healthRADIUSSecret:
            "The secret that RADIUS servers have for this host; required for radius_status."
        case .healthRise: "Successes in a row that enable a downstream."
        case .healthFall: "Failures in a row that disable a downstream."
        case .healthMinHealthy:
            "With fewer healthy downstreams in a hundred a listener uses all of them."
        case .healthPassive:
            "Whether an interval in which a downstream refuses a datagram (ICMP) is a failed probe; userspace."
        case .metricsEnabled: "Whether metrics are served."
        case .metricsBind: "TCP address of the server, which also answers /healthz and /readyz."
        case .metricsPath: "Path of the metrics."
        case .metricsServerNames:
            "Further names by which browsers may ask for the status page, besides IP addresses, localhost and the host's name."
        case .controlEnabled: "Whether there is a control socket."
        case .controlSocket: "Path of the control socket."
        }
    }
}
