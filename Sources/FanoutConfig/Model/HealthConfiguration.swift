// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// `health`: whether and how the downstreams are probed.
public struct HealthConfiguration: Equatable, Sendable {
    public var enabled: Bool
    /// From one probe of a downstream to the next, whole seconds, 1...3600.
    public var interval: Duration
    /// How long an answer may take, whole seconds, 1...`interval`.
    public var timeout: Duration
    public var probeProtocol: ProbeKind
    /// Where probes go instead of the downstream's own port, 1...65535; `icmp` has none.
    public var port: UInt16?
    /// What a probe of kind `udp` sends, as it is written: see `PayloadText`.
    public var payload: String?
    /// The same by name; nil when `payload` is set.
    public var payloadPreset: ProbePayload.Preset?
    /// What RADIUS servers know this host by; set with the preset `radius_status`.
    public var radiusSecret: String?
    /// Successes in a row that enable a downstream, 1...100.
    public var rise: Int
    /// Failures in a row that disable one, 1...100.
    public var fall: Int
    /// 0...100: with fewer healthy downstreams in a hundred a listener uses them all.
    public var minHealthyPercent: Int
    /// Whether an interval that contains a refusal is a failed probe.
    public var passive: Bool

    public init(
        enabled: Bool = false, interval: Duration = .seconds(5), timeout: Duration = .seconds(2),
        probeProtocol: ProbeKind = .icmp, port: UInt16? = nil, payload: String? = nil,
        payloadPreset: ProbePayload.Preset? = nil, radiusSecret: String? = nil, rise: Int = 1,
        fall: Int = 3, minHealthyPercent: Int = 0, passive: Bool = false
    ) {
        self.enabled = enabled
        self.interval = interval
        self.timeout = timeout
        self.probeProtocol = probeProtocol
        self.port = port
        self.payload = payload
        self.payloadPreset = payloadPreset
        self.radiusSecret = radiusSecret
        self.rise = rise
        self.fall = fall
        self.minHealthyPercent = minHealthyPercent
        self.passive = passive
    }

    /// The same as a FanoutCore value; nil when nothing is to be probed.
    public var policy: HealthPolicy? { enabled ? rules : nil }

    /// How refusals are judged: by interval and thresholds; nil when they are not.
    public var passivePolicy: HealthPolicy? { passive ? rules : nil }

    /// What is done, in a few words; nil when nothing is.
    public var summary: String? {
        let parts = (enabled ? [probeProtocol.rawValue] : []) + (passive ? ["passive"] : [])
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private var rules: HealthPolicy {
        HealthPolicy(
            kind: probeProtocol, port: port,
            payload: probePayload, interval: interval, timeout: timeout, rise: rise, fall: fall,
            minHealthyPercent: minHealthyPercent)
    }

    private var probePayload: ProbePayload {
        if let payloadPreset {
            return ProbePayload(payloadPreset, secret: Array((radiusSecret ?? "").utf8))
        }
        return payload.flatMap { try? PayloadText.bytes(of: $0) }.map(ProbePayload.bytes) ?? .usual
    }
}
