// SPDX-License-Identifier: Apache-2.0

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
