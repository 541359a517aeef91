// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

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
