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

extension HealthConfiguration {
    init(_ reader: SectionReader) {
        self.init()
        if let field = reader.boolean(.healthEnabled) { enabled = field.value }
        let interval = reader.integer(.healthInterval)
        let timeout = reader.integer(.healthTimeout)
        if let interval { self.interval = .seconds(interval.value) }
        if let timeout { self.timeout = .seconds(timeout.value) }
        checkTimes(interval, timeout, reader)
        let kind = reader.choice(.healthProtocol, of: ProbeKind.self)
        if let kind { probeProtocol = kind.value }
        if let field = reader.integer(.healthPort) { port = UInt16(clamping: field.value) }
        payload = reader.payload(.healthPayload)?.value
        payloadPreset = reader.choice(.healthPayloadPreset, of: ProbePayload.Preset.self)?.value
        radiusSecret = reader.text(.healthRADIUSSecret)?.value
        // A kind that cannot be read has been reported, and to judge by the default would mislead.
        if kind != nil || reader.keyOrigin(of: .healthProtocol) == nil { checkKind(reader) }
        if let field = reader.integer(.healthRise) { rise = field.value }
        if let field = reader.integer(.healthFall) { fall = field.value }
        if let field = reader.integer(.healthMinHealthy) { minHealthyPercent = field.value }
        if let field = reader.boolean(.healthPassive) { passive = field.value }
    }

    private func checkTimes(
        _ interval: Located<Int>?, _ timeout: Located<Int>?, _ reader: SectionReader
    ) {
        // An unreadable neighbour has been reported, and comparing with its default would mislead.
        let readable =
            (interval != nil || reader.keyOrigin(of: .healthInterval) == nil)
            && (timeout != nil || reader.keyOrigin(of: .healthTimeout) == nil)
        guard readable, self.timeout > self.interval else { return }
        let seconds = self.interval.components.seconds
        let allowed =
            timeout == nil
            ? "timeout_secs (\(self.timeout.components.seconds) unless written)"
            : "timeout_secs (\(self.timeout.components.seconds))"
        reader.findings.error(
            at: timeout?.origin ?? interval?.origin ?? reader.origin,
            "\(allowed) exceeds interval_secs (\(seconds)"
                + (interval == nil ? " unless written)" : ")"),
            "write timeout_secs: \(seconds) or less")
    }

    private func checkKind(_ reader: SectionReader) {
        let withPort = ProbeKind.allCases.filter(\.hasPort).map(\.rawValue).alternatives
        if !probeProtocol.hasPort, let place = reader.keyOrigin(of: .healthPort) {
            reader.findings.warning(
                at: place, "is not used with protocol \(probeProtocol.rawValue), which has no port",
                "remove it, or write protocol: \(withPort)")
        }
        guard probeProtocol != .udp else { return checkPayload(reader) }
        for key in [ConfigKey.healthPayload, .healthPayloadPreset, .healthRADIUSSecret] {
            guard let place = reader.keyOrigin(of: key) else { continue }
            reader.findings.warning(
                at: place, "is not used with protocol \(probeProtocol.rawValue)",
                "remove it, or write protocol: udp")
        }
    }

    private func checkPayload(_ reader: SectionReader) {
        let preset = reader.keyOrigin(of: .healthPayloadPreset)
        let secret = reader.keyOrigin(of: .healthRADIUSSecret)
        if let preset, reader.keyOrigin(of: .healthPayload) != nil {
            reader.findings.error(at: preset, "stands beside payload", "remove one of the two")
        }
        // A preset that cannot be read has been reported.
        if let preset, payloadPreset == .radiusStatus, secret == nil {
            reader.findings.error(
                at: preset, "radius_status needs a secret, without which servers ignore it",
                "write radius_secret: and the secret that the servers have for this host")
        }
        if let secret, payloadPreset != .radiusStatus, payloadPreset != nil || preset == nil {
            reader.findings.warning(
                at: secret, "is not used without payload_preset: radius_status", "remove it")
        }
    }
}
