// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// Every key of the configuration file: the one table that the decoder, the suggestions for unknown
/// keys and the generated references read. The raw value is the key's path, `[]` marking list
/// items.
public enum ConfigKey: String, CaseIterable, Hashable, Sendable {
    case listeners, settings, health, metrics, control

    case listenerName = "listeners[].name"
    case listenerBind = "listeners[].bind"
    case listenerVIP = "listeners[].vip"
    case listenerPorts = "listeners[].ports"
    case listenerMode = "listeners[].mode"
    case listenerBalance = "listeners[].balance"
    case listenerPreserveSource = "listeners[].preserve_source"
    case listenerInterface = "listeners[].interface"
    case listenerAddresses = "listeners[].addresses"
    case listenerProtocol = "listeners[].protocol"
    case listenerOneArm = "listeners[].one_arm"
    case listenerMaxAssociations = "listeners[].max_associations"
    case listenerUnanswered = "listeners[].unanswered"
    case listenerDownstream = "listeners[].downstream"
    case listenerKubernetes = "listeners[].kubernetes"
    case listenerFile = "listeners[].file"
    case listenerDNS = "listeners[].dns"
    case listenerSettings = "listeners[].settings"

    case downstreamName = "listeners[].downstream[].name"
    case downstreamAddress = "listeners[].downstream[].address"
    case downstreamWeight = "listeners[].downstream[].weight"
    case downstreamMAC = "listeners[].downstream[].mac"

    case kubernetesNamespace = "listeners[].kubernetes.namespace"
    case kubernetesService = "listeners[].kubernetes.service"
    case kubernetesPort = "listeners[].kubernetes.port"
    case kubernetesVIP = "listeners[].kubernetes.vip"

    case filePath = "listeners[].file.path"
    case filePort = "listeners[].file.port"

    case dnsName = "listeners[].dns.name"
    case dnsPort = "listeners[].dns.port"
    case dnsServer = "listeners[].dns.server"

    case maxPacketSize = "settings.max_packet_size"
    case maxDownstream = "settings.max_downstream"
    case batchSize = "settings.batch_size"
    case workers = "settings.workers"
    case pinCPUs = "settings.pin_cpus"
    case receiveBuffer = "settings.recv_buf_size"
    case sharePort = "settings.share_port"
    case steer = "settings.steer"
    case tcAttach = "settings.tc_attach"
    case seed = "settings.seed"
    case xdpMode = "settings.xdp_mode"
    case busyPoll = "settings.busy_poll"
    case slowStart = "settings.slow_start_secs"
    case keepCapabilities = "settings.keep_capabilities"

    case healthEnabled = "health.enabled"
    case healthInterval = "health.interval_secs"
    case healthTimeout = "health.timeout_secs"
    case healthProtocol = "health.protocol"
    case healthPort = "health.port"
    case healthPayload = "health.payload"
    case healthPayloadPreset = "health.payload_preset"
    case healthRADIUSSecret = "health.radius_secret"
    case healthRise = "health.rise"
    case healthFall = "health.fall"
    case healthMinHealthy = "health.min_healthy_percent"
    case healthPassive = "health.passive"

    case metricsEnabled = "metrics.enabled"
    case metricsBind = "metrics.bind"
    case metricsPath = "metrics.path"
    case metricsServerNames = "metrics.server_names"

    case controlEnabled = "control.enabled"
    case controlSocket = "control.socket"

    /// The key as it is written: the last part of its path.
    public var name: String { Self.names[self] ?? rawValue }

    /// The mapping that the key stands in.
    public var section: ConfigSection { Self.sections[self] ?? .root }

    /// Every place where the key may stand; `settings` may also stand inside a listener.
    public var paths: [String] { section.paths.map { $0.isEmpty ? name : "\($0).\(name)" } }

    private static let names = Dictionary(
        uniqueKeysWithValues: allCases.map { key in
            (key, key.rawValue.split(separator: ".").last.map(String.init) ?? key.rawValue)
        })

    private static let sections = Dictionary(
        uniqueKeysWithValues: allCases.map { key in
            let parent = key.rawValue.lastIndex(of: ".").map { String(key.rawValue[..<$0]) } ?? ""
            return (key, ConfigSection.allCases.first { $0.paths[0] == parent } ?? .root)
        })
}

extension ConfigKey {
    /// What may stand behind the key. The only place where a range is written.
    public var type: ValueType {
        switch self {
        case .listeners: .list(of: .listener)
        case .settings, .listenerSettings: .section(.settings)
        case .health: .section(.health)
        case .metrics: .section(.metrics)
        case .control: .section(.control)
        case .listenerName, .downstreamName: .name
        case .listenerBind, .downstreamAddress, .dnsServer, .metricsBind: .endpoint
        case .listenerMode: .choice(ForwardingMode.allCases.map(\.rawValue))
        case .listenerBalance: .choice(Balance.allCases.map(\.rawValue))
        case .steer: .choice(Steer.allCases.map(\.rawValue))
        case .tcAttach: .choice(TCAttach.allCases.map(\.rawValue))
        case .xdpMode: .choice(XDPAttach.allCases.map(\.rawValue))
        case .keepCapabilities: .choices(KeptCapability.allCases.map(\.rawValue))
        case .listenerVIP: .address
        case .listenerPorts: .ports
        case .listenerProtocol: .choice(NATTransport.allCases.map(\.rawValue))
        case .listenerMaxAssociations: .integer(1...NATSettings.associationsLimit)
        case .listenerInterface: .interface
        case .listenerAddresses: .addresses
        case .listenerDownstream: .list(of: .downstream)
        case .listenerKubernetes: .section(.kubernetes)
        case .listenerFile: .section(.file)
        case .listenerDNS: .section(.dns)
        case .filePath: .text
        case .dnsName: .domainName
        case .downstreamWeight: .integer(0...65535)
        case .downstreamMAC: .macAddress
        case .kubernetesNamespace, .kubernetesService: .dnsLabel
        case .kubernetesPort: .servicePort
        case .maxPacketSize: .bytes(1...65535)
        case .maxDownstream, .batchSize: .integer(1...1024)
        case .workers: .integer(0...256)
        case .receiveBuffer: .bytes(0...(1 << 30))
        case .seed: .integer(0...Int.max)
        case .slowStart: .seconds(0...3600)
        case .healthInterval, .healthTimeout: .seconds(1...3600)
        case .healthProtocol: .choice(ProbeKind.allCases.map(\.rawValue))
        case .healthPort, .filePort, .dnsPort: .integer(1...65535)
        case .healthPayload: .payload
        case .healthPayloadPreset: .choice(ProbePayload.Preset.allCases.map(\.rawValue))
        case .healthRADIUSSecret: .text
        case .healthRise, .healthFall: .integer(1...100)
        case .healthMinHealthy: .integer(0...100)
        case .metricsPath: .urlPath
        case .metricsServerNames: .domainNames
        case .controlSocket: .socketPath
        case .listenerOneArm, .listenerUnanswered, .listenerPreserveSource, .kubernetesVIP,
            .pinCPUs,
            .sharePort, .busyPoll, .healthEnabled, .healthPassive, .metricsEnabled, .controlEnabled:
            .boolean
        }
    }
}

/// What holds when a key is not written.
public enum KeyDefault: Equatable, Sendable {
    /// The key must be written.
    case required
    /// This value, as it would be written in YAML.
    case value(String)
    /// Nothing; the text says what that means.
    case absent(String)
}

extension ConfigKey {
    /// What holds when the key is not written.
    public var defaultValue: KeyDefault {
        switch self {
        case .listeners, .listenerName, .downstreamName, .downstreamAddress,
            .kubernetesService, .kubernetesPort, .filePath, .dnsName:
            .required
        case .settings, .health, .metrics, .control, .listenerSettings:
            .absent("the default of each key")
        case .listenerBind: .absent("required unless vip and ports are set")
        case .listenerVIP, .listenerPorts: .absent("what bind says")
        case .listenerProtocol: .value("udp")
        case .listenerMaxAssociations: .value("1048576")
        case .listenerOneArm: .value("false")
        case .listenerUnanswered: .value("true")
        case .listenerMode: .value("userspace")
        case .listenerBalance: .value("round_robin")
        case .listenerPreserveSource: .absent("false in userspace, true in the kernel modes")
        case .listenerInterface: .absent("required for the kernel modes")
        case .listenerAddresses: .absent("only the addresses of bind")
        case .listenerDownstream: .absent("required unless kubernetes, file or dns is set")
        case .listenerKubernetes, .listenerFile, .listenerDNS: .absent("no discovery")
        case .filePort: .absent("each receiver in the file has its own")
        case .dnsPort: .absent("the name has SRV records")
        case .dnsServer: .absent("the servers of /etc/resolv.conf")
        case .downstreamWeight: .value("1")
        case .downstreamMAC: .absent("not used")
        case .kubernetesNamespace: .absent("the pod's namespace in a cluster, else default")
        case .maxPacketSize: .value("9000")
        case .maxDownstream: .value("64")
        case .batchSize: .value("32")
        case .workers, .receiveBuffer, .seed, .slowStart: .value("0")
        case .keepCapabilities: .absent("none")
        case .pinCPUs: .value("true")
        case .kubernetesVIP, .sharePort, .busyPoll, .healthEnabled, .healthPassive, .metricsEnabled:
            .value("false")
        case .steer: .value("source_ip")
        case .tcAttach, .xdpMode: .value("auto")
        case .healthInterval: .value("5")
        case .healthTimeout: .value("2")
        case .healthProtocol: .value("icmp")
        case .healthPort: .absent("the downstream's own port")
        case .healthPayload: .absent("the words udp-fanout probe")
        case .healthPayloadPreset: .absent("what payload says")
        case .healthRADIUSSecret: .absent("not used")
        case .healthRise: .value("1")
        case .healthFall: .value("3")
        case .healthMinHealthy: .value("0")
        case .metricsBind: .value("0.0.0.0:9090")
        case .metricsPath: .value("/metrics")
        case .metricsServerNames: .absent("none")
        case .controlEnabled: .value("true")
        case .controlSocket: .absent("control.sock in the runtime folder of the daemon's user")
        }
    }
}

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
