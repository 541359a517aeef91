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
        if let field = reader.integer(.seed) { seed = UInt64(field.value) }
        if let field = reader.choice(.xdpMode, of: XDPAttach.self) { xdpMode = field.value }
        if let field = reader.boolean(.busyPoll) { busyPoll = field.value }
        if let field = reader.integer(.slowStart) { slowStartSeconds = field.value }
    }
}

extension KubernetesConfiguration {
    /// nil when a part that must be there is missing, which has been reported.
    init?(_ reader: SectionReader) {
        let namespace = reader.dnsLabel(.kubernetesNamespace)
        let service = reader.dnsLabel(.kubernetesService)
        let port = reader.servicePort(.kubernetesPort)
        let vip = reader.boolean(.kubernetesVIP)
        guard let service, let port else { return nil }
        self.init(
            namespace: namespace?.value, service: service.value, port: port.value,
            vip: vip?.value ?? false)
    }
}

extension FileConfiguration {
    /// nil when the path is missing, which has been reported.
    init?(_ reader: SectionReader) {
        let port = reader.integer(.filePort)
        guard let path = reader.text(.filePath) else { return nil }
        self.init(path: path.value, port: port.map { UInt16(clamping: $0.value) })
    }
}

extension DNSConfiguration {
    /// nil when the name is missing, which has been reported.
    init?(_ reader: SectionReader) {
        let port = reader.integer(.dnsPort)
        let server = reader.endpoint(.dnsServer)
        guard let name = reader.domainName(.dnsName) else { return nil }
        self.init(
            name: name.value, port: port.map { UInt16(clamping: $0.value) }, server: server?.value)
    }
}

extension ControlConfiguration {
    init(_ reader: SectionReader) {
        self.init()
        if let field = reader.boolean(.controlEnabled) { enabled = field.value }
        socket = reader.socketPath(.controlSocket)?.value
    }
}

extension MetricsConfiguration {
    init(_ reader: SectionReader) {
        self.init()
        if let field = reader.boolean(.metricsEnabled) { enabled = field.value }
        if let field = reader.endpoint(.metricsBind) { bind = field.value }
        if let field = reader.urlPath(.metricsPath) { path = field.value }
        serverNames = reader.domainNames(.metricsServerNames)
    }
}
