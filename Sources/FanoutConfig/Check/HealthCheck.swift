// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

/// Whether the daemon sees refusals: an ICMP error goes to the source of the datagram, which must be a socket of
/// this host.
enum PassiveCheck {
    static func run(
        _ listeners: [DecodedListener], _ health: Decoded<HealthConfiguration>, _ findings: Findings
    ) {
        guard health.value.passive, let place = health.keyOrigin(\.passive) else { return }
        for listener in listeners {
            guard let mode = listener.mode, listener.preservesSource else { continue }
            let cause =
                mode == .userspace ? "keeps the client's source" : "is of mode \(mode.rawValue)"
            findings.error(
                at: place,
                "\(listener.title) \(cause), so refusals (ICMP errors) go to the client and not to this host",
                "remove it, or write mode: userspace without preserve_source for every listener")
            return
        }
    }
}

/// The rules that span keys of `health`.
struct HealthCheck {
    private let health: Decoded<HealthConfiguration>
    private let findings: Findings

    init(_ health: Decoded<HealthConfiguration>, _ findings: Findings) {
        self.health = health
        self.findings = findings
    }

    func run() {
        checkTimes()
        if !health.isUnreadable(\.probes.kind) { checkKind() }
    }

    private func checkTimes() {
        let interval = health.origin(\.probes.interval)
        let timeout = health.origin(\.probes.timeout)
        let (probes, seconds) = (
            health.value.probes, health.value.probes.interval.components.seconds
        )
        guard !health.isUnreadable(\.probes.interval), !health.isUnreadable(\.probes.timeout),
            probes.timeout > probes.interval
        else { return }
        func words(_ seconds: Int64, _ origin: Origin?) -> String {
            "(\(seconds)" + (origin == nil ? " by default)" : ")")
        }
        findings.error(
            at: timeout ?? interval ?? health.origins.section,
            "timeout_secs \(words(probes.timeout.components.seconds, timeout)) exceeds interval_secs "
                + words(seconds, interval),
            "write timeout_secs: \(seconds) or less")
    }

    private func checkKind() {
        let kind = health.value.probes.kind
        if !kind.hasPort, let place = health.keyOrigin(\.probes.port) {
            let withPort = ProbeKind.allCases.filter(\.hasPort).map(\.rawValue).alternatives
            findings.warning(
                at: place, "is not used with protocol \(kind.rawValue), which has no port",
                "remove it, or write protocol: \(withPort)")
        }
        guard kind != .udp else { return checkPayload() }
        let udpKeys: [PartialKeyPath<HealthConfiguration>] = [
            \.payload, \.payloadPreset, \.radiusSecret,
        ]
        for place in udpKeys.compactMap({ health.keyOrigin($0) }) {
            findings.warning(
                at: place, "is not used with protocol \(kind.rawValue)",
                "remove it, or write protocol: udp")
        }
    }

    private func checkPayload() {
        let needsSecret = health.value.payloadPreset == .radiusStatus
        let secret = health.keyOrigin(\.radiusSecret)
        if let preset = health.keyOrigin(\.payloadPreset) {
            if health.keyOrigin(\.payload) != nil {
                findings.error(at: preset, "stands beside payload", "remove one of the two")
            }
            if needsSecret, secret == nil {
                findings.error(
                    at: preset, "radius_status needs a secret, without which servers ignore it",
                    "write radius_secret: and the secret that the servers have for this host")
            }
        }
        if let secret, !needsSecret, !health.isUnreadable(\.payloadPreset) {
            findings.warning(
                at: secret, "is not used without payload_preset: radius_status", "remove it")
        }
    }
}
