// SPDX-License-Identifier: Apache-2.0

/// `health`: whether and how the downstreams are probed.
public struct HealthConfiguration: Equatable, Sendable {
    /// What a probe sends; the raw value is the spelling in YAML.
    public enum ProbeProtocol: String, CaseIterable, Sendable {
        /// An ICMP or ICMPv6 echo request.
        case icmp
        /// A datagram to the downstream's own port, which it sends back.
        case udpEcho = "udp_echo"
    }

    public var enabled: Bool
    /// From one probe of a downstream to the next, whole seconds, 1...3600.
    public var interval: Duration
    /// How long an answer may take, whole seconds, 1...`interval`.
    public var timeout: Duration
    public var probeProtocol: ProbeProtocol

    var enabledOrigin = Origin.none

    public init(
        enabled: Bool = false, interval: Duration = .seconds(5), timeout: Duration = .seconds(2),
        probeProtocol: ProbeProtocol = .icmp
    ) {
        self.enabled = enabled
        self.interval = interval
        self.timeout = timeout
        self.probeProtocol = probeProtocol
    }
}
