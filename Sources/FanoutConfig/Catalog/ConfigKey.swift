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
