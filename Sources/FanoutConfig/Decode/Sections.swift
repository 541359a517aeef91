// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore

extension ListenerSettings {
    /// Lays the keys that are written over these settings; the others stay as they are.
    mutating func override(with reader: SectionReader) {
        if let field = reader.integer(.maxPacketSize) { maxPacketSize = field.value }
        if let field = reader.integer(.maxDownstream) { maxDownstream = field.value }
        if let field = reader.integer(.batchSize) { batchSize = field.value }
        if let field = reader.integer(.workers) { workers = field.value }
        if let field = reader.boolean(.pinCPUs) { pinCPUs = field.value }
        if let field = reader.integer(.receiveBuffer) { receiveBufferBytes = field.value }
        if let field = reader.boolean(.sharePort) { sharePort = field.value }
        if let field = reader.choice(.steer, of: Steer.self) { steer = field.value }
        if let field = reader.choice(.tcAttach, of: TCAttach.self) { tcAttach = field.value }
    }
}

extension KubernetesConfiguration {
    /// nil when a part that must be there is missing, which has been reported.
    init?(_ reader: SectionReader) {
        let namespace = reader.dnsLabel(.kubernetesNamespace)
        let service = reader.dnsLabel(.kubernetesService)
        let port = reader.servicePort(.kubernetesPort)
        guard let service, let port else { return nil }
        self.init(namespace: namespace?.value, service: service.value, port: port.value)
    }
}

extension HealthConfiguration {
    init(_ reader: SectionReader) {
        self.init()
        if let field = reader.boolean(.healthEnabled) {
            enabled = field.value
            enabledOrigin = field.origin
        }
        let interval = reader.integer(.healthInterval)
        let timeout = reader.integer(.healthTimeout)
        if let interval { self.interval = .seconds(interval.value) }
        if let timeout { self.timeout = .seconds(timeout.value) }
        if let field = reader.choice(.healthProtocol, of: ProbeProtocol.self) {
            probeProtocol = field.value
        }
        // An unreadable neighbour has been reported, and comparing with its default would mislead.
        let readable =
            (interval != nil || reader.keyOrigin(of: .healthInterval) == nil)
            && (timeout != nil || reader.keyOrigin(of: .healthTimeout) == nil)
        if readable, self.timeout > self.interval {
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
    }
}

extension MetricsConfiguration {
    init(_ reader: SectionReader) {
        self.init()
        if let field = reader.boolean(.metricsEnabled) { enabled = field.value }
        if let field = reader.endpoint(.metricsBind) { bind = field.value }
        if let field = reader.urlPath(.metricsPath) { path = field.value }
    }
}
