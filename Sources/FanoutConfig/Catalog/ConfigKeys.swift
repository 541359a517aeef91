// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file

internal import FanoutCore

// Every key of the configuration file: name, property, type with range, default unless it is the property's, and
// meaning.

extension ConfigSection {
    /// In documentation order.
    public static let all = [
        Configuration.section.outline, ListenerConfiguration.section.outline, PayloadKey.section.outline, DownstreamConfiguration.section.outline,
        KubernetesConfiguration.section.outline, FileConfiguration.section.outline, DNSQuery.section.outline,
        SettingsSection.section.outline, HealthConfiguration.section.outline, MetricsConfiguration.section.outline,
        ControlConfiguration.section.outline,
    ]
}

extension Configuration: SectionModel {
    static let section = Section<Self>("root", at: "") {
        Key("listeners", items: \.listeners, unset: .required,
            "The addresses on which datagrams arrive, and their receivers."
        ) { ListenerConfiguration(settings: $0.settings) }
        Key("settings", section: \.settingsSection, "Knobs of every listener.")
        Key("health", section: \.health, "Whether and how downstreams are probed.")
        Key("metrics", section: \.metrics, "The HTTP server that Prometheus scrapes.")
        Key("control", section: \.control, "The unix socket that udp-fanout status and its like talk to.")
    }
}

extension ListenerConfiguration: SectionModel {
    static let section = Section<Self>("listener", at: "listeners[]") {
        Key("name", \.name, .name, unset: .required, "Unique name; the metric label listener.")
        Key("bind", \.singleBind, .endpoint, unset: "required unless vip and ports are set",
            "Address and port that datagrams are sent to.")
        Key("vip", \.vip, .address, unset: "what bind says",
            "Address that clients of xdp_nat know, in place of bind.")
        Key("ports", \.ports, .ports, unset: "what bind says",
            "Ports at that address; receivers are met at the same ones.")
        Key("mode", \.mode, .choice(), "Which data plane carries the datagrams.")
        Key("balance", \.balance, .choice(spellings: ["roundrobin": .roundRobin, "iphash": .sourceIP]),
            "How a receiver is chosen; roundrobin and iphash are read as round_robin and source_ip.")
        Key("payload_key", section: \.payloadKey, unset: "required for balance: payload",
            "The bytes of the UDP payload that balance: payload hashes.")
        Key("preserve_source", \.preserveSource, .boolean, unset: "false in userspace, true in the kernel modes",
            "Whether receivers see the client's address and port.")
        Key("interface", \.interface, .interface, unset: "required for the kernel modes",
            "The interface that a kernel mode hooks into.")
        Key("addresses", \.addresses, .addresses, unset: "only the addresses of bind", if: { $0.mode.needsInterface },
            "Further destinations that a kernel mode serves; any = every destination on the port.")
        Key("protocol", \.nat.transport, .choice(), if: { $0.mode == .xdpNAT }, "What xdp_nat translates.")
        Key("one_arm", \.nat.isOneArm, .boolean, if: { $0.mode == .xdpNAT },
            "Whether clients and receivers of xdp_nat are behind one gateway; else routes decide.")
        Key("max_associations", \.nat.maxAssociations, .integer(1...NATSettings.associationsLimit), if: { $0.mode == .xdpNAT },
            "Clients that xdp_nat remembers, rounded up to a power of two.")
        Key("unanswered", \.nat.keepsUnansweredApart, .boolean, if: { $0.mode == .xdpNAT },
            "Whether xdp_nat keeps clients without an answer apart from the others.")
        Key("downstream", items: \.downstreams, unset: "required unless kubernetes, file or dns is set", if: { $0.discovery == nil },
            "The receivers."
        ) { DownstreamConfiguration(defaultPort: $0.mode == .xdpNAT ? $0.bind.port : 0) }
        Key("kubernetes", section: \.kubernetes, unset: "no discovery",
            "The service whose ready endpoints are the receivers.")
        Key("file", section: \.file, unset: "no discovery",
            "A file in which the receivers stand; it is read again when it changes.")
        Key("dns", section: \.dns, unset: "no discovery", "A name that stands for the receivers.")
        Key("settings", section: \.settingsSection, "Knobs of this listener; each key overrides the one at the top.")
    }
}

extension PayloadKey: SectionModel {
    static let section = Section<Self>("payload_key", at: "listeners[].payload_key") {
        Key("preset", \.preset, .choice(), unset: "the bytes at offset",
            "The bytes of a protocol; offset and length of server IDs count within the connection ID.")
        Key("offset", \.offset, .integer(0...1023), if: { $0.preset?.takesBytes ?? true },
            "Where the bytes begin in the payload.")
        Key("length", \.length, .integer(1...20), unset: "required, except for presets without it",
            if: { $0.preset?.takesBytes ?? true }, "How many bytes are hashed.")
        Key("skip", \.skip, .integer(0...255),
            "Bytes of an encapsulation in front of the protocol's own header.")
    }

    init() { self.init(nil) }
}

extension DownstreamConfiguration: SectionModel {
    static let section = Section<Self>("downstream", at: "listeners[].downstream[]") {
        Key("name", \.name, .name, unset: .required, "Name, unique within the listener; the metric label downstream.")
        Key("address", \.address, .receiver, unset: .required,
            "Address and port of the receiver, unique within the listener.")
        Key("weight", \.weight, .integer(0...65535), "Share of new traffic relative to the others; 0 = draining.")
        Key("backup", \.backup, .boolean, "Used only while no other receiver is ready.")
        Key("mac", \.mac, .macAddress, unset: "not used",
            "Legacy: checked, then ignored; the next hop comes from the routes.")
    }
}

extension KubernetesConfiguration: SectionModel {
    static let section = Section<Self>("kubernetes", at: "listeners[].kubernetes") {
        Key("namespace", \.namespace, .dnsLabel, unset: "the pod's namespace in a cluster, else default",
            "Namespace of the service.")
        Key("service", \.service, .dnsLabel, unset: .required,
            "Name of the service (label kubernetes.io/service-name).")
        Key("port", \.port, .servicePort, unset: .required, "Port of each endpoint, by number or by name.")
        Key("vip", \.vip, .boolean,
            "Whether the load balancer's addresses of the service join those of the listener.")
    }
}

extension FileConfiguration: SectionModel {
    static let section = Section<Self>("file", at: "listeners[].file") {
        Key("path", \.path, .text, unset: .required,
            "Path of the file, from the working directory unless it begins with a slash: an address, or "
                + "address:port, a line; below [Real Servers] if it is INI.")
        Key("port", \.port, .integer(1...65535), unset: "each receiver in the file has its own",
            "Port of receivers without one.")
    }
}

extension DNSQuery: SectionModel {
    static let section = Section<Self>("dns", at: "listeners[].dns") {
        Key("name", \.name, .domainName, unset: .required, "The whole name; search domains are not appended.")
        Key("port", \.port, .integer(1...65535), unset: "the name has SRV records",
            "Port of every address of the name; without it the name has SRV records.")
        Key("server", \.server, .endpoint, unset: "the servers of /etc/resolv.conf",
            "Address and port of the server to ask.")
    }

    init() { self.init(name: "") }
}

extension SettingsSection: SectionModel {
    static let section = Section<Self>("settings", at: "settings", "listeners[].settings") {
        Key("max_packet_size", \.listener.maxPacketSize, .bytes(1...65535),
            "Longest datagram that is forwarded, payload bytes; a longer one is dropped.")
        Key("max_downstream", \.listener.maxDownstream, .integer(1...1024),
            "How many downstreams a listener may have.")
        Key("batch_size", \.listener.batchSize, .integer(1...1024),
            "Messages that one receive call takes at first; up to 512, or this if more, while messages wait.")
        Key("workers", \.listener.workers, .integer(0...256), "Worker threads of each listener; 0 = one per CPU.")
        Key("pin_cpus", \.listener.pinCPUs, .boolean, "Whether each worker stays on one CPU.")
        Key("recv_buf_size", \.listener.receiveBufferBytes, .bytes(0...(1 << 30)),
            "Receive buffer of each socket in bytes; 0 = the system's default.")
        Key("share_port", \.listener.sharePort, .boolean,
            "Whether to join an address that another process already serves.")
        Key("steer", \.listener.steer, .choice(),
            "How userspace chooses the worker of a datagram: by its source address, by the kernel for each flow, or by the CPU that took it.")
        Key("tc_attach", \.listener.tcAttach, .choice(),
            "How tc_ebpf hooks into the interface; auto = tcx where the kernel has it.")
        Key("seed", \.listener.seed, .integer(0...Int.max),
            "Mixed into the hash of source_ip, four_tuple and payload; hosts with one seed choose alike.")
        Key("xdp_mode", \.listener.xdpMode, .choice(),
            "Where af_xdp and xdp_nat meet packets: native = in the driver, skb = in the network stack.")
        Key("busy_poll", \.listener.busyPoll, .boolean,
            "Whether workers of af_xdp poll all the time rather than sleep.")
        Key("slow_start_secs", \.listener.slowStartSeconds, .seconds(0...3600),
            "Seconds over which the share of a receiver rises that comes or is healthy again; 0 = at once.")
        Key("keep_capabilities", \.keptCapabilities, .choices(), unset: "none",
            "Capabilities that the process keeps after the start although nothing needs them yet, for later reloads.")
    }
}

extension HealthConfiguration: SectionModel {
    static let section = Section<Self>("health", at: "health") {
        Key("enabled", \.enabled, .boolean, "Whether downstreams are probed.")
        Key("interval_secs", \.probes.interval, .seconds(1...3600),
            "Seconds from one probe of a downstream to the next.")
        Key("timeout_secs", \.probes.timeout, .seconds(1...3600),
            "Seconds that an answer may take; at most interval_secs.")
        Key("protocol", \.probes.kind, .choice(),
            "What a probe is: an ICMP echo request, a datagram to be echoed, a datagram, a connection.")
        Key("port", \.probes.port, .integer(1...65535), unset: "the downstream's own port",
            "Port that probes go to, if it is not the downstream's own; not for icmp.")
        Key("payload", \.payload, .payload, unset: "the words udp-fanout probe",
            #"What a probe of protocol udp sends; \xHH in it is a byte."#)
        Key("payload_preset", \.payloadPreset, .choice(), unset: "what payload says",
            "The same by name: a request that servers of a protocol answer, or an empty datagram.")
        Key("radius_secret", \.radiusSecret, .text, unset: "not used",
            "The secret that RADIUS servers have for this host; required for radius_status.")
        Key("rise", \.probes.rise, .integer(1...100), "Successes in a row that enable a downstream.")
        Key("fall", \.probes.fall, .integer(1...100), "Failures in a row that disable a downstream.")
        Key("min_healthy_percent", \.probes.minHealthyPercent, .integer(0...100),
            "With fewer healthy downstreams in a hundred a listener uses all of them.")
        Key("passive", \.passive, .boolean,
            "Whether an interval in which a downstream refuses a datagram (ICMP) is a failed probe; userspace.")
    }
}

extension MetricsConfiguration: SectionModel {
    static let section = Section<Self>("metrics", at: "metrics") {
        Key("enabled", \.enabled, .boolean, "Whether metrics are served.")
        Key("bind", \.bind, .endpoint, "TCP address of the server, which also answers /healthz and /readyz.")
        Key("path", \.path, .metricsPath, "Path of the metrics.")
        Key("server_names", \.serverNames, .domainNames, unset: "none",
            "Further names by which browsers may ask for the status page, besides IP addresses, localhost and the host's name.")
    }
}

extension ControlConfiguration: SectionModel {
    static let section = Section<Self>("control", at: "control") {
        Key("enabled", \.enabled, .boolean, "Whether there is a control socket.")
        Key("socket", \.socket, .socketPath, unset: "control.sock in the runtime folder of the daemon's user",
            "Path of the control socket.")
    }
}
