// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// Everything that one configuration file says, with the defaults filled in.
///
/// A value that `load` or `read` returns has passed every check that can be made on the file alone;
/// whether an interface exists or a port is free shows only when it is used.
public struct Configuration: Equatable, Sendable {
    /// At least one, in the order of the file; names are unique and no two bind addresses collide.
    public var listeners: [ListenerConfiguration]
    /// The file's own `settings`; each listener's `settings` already contain them.
    public var settings: ListenerSettings
    public var health: HealthConfiguration
    public var metrics: MetricsConfiguration
    public var control: ControlConfiguration
    /// What the process does not release after the start, for later reloads.
    public var keptCapabilities: Set<KeptCapability>

    public init(
        listeners: [ListenerConfiguration], settings: ListenerSettings = ListenerSettings(),
        health: HealthConfiguration = HealthConfiguration(),
        metrics: MetricsConfiguration = MetricsConfiguration(),
        control: ControlConfiguration = ControlConfiguration(),
        keptCapabilities: Set<KeptCapability> = []
    ) {
        self.listeners = listeners
        self.settings = settings
        self.health = health
        self.metrics = metrics
        self.control = control
        self.keptCapabilities = keptCapabilities
    }

    /// Has services without a namespace be of this one.
    public mutating func settle(namespace: String) {
        for index in listeners.indices where listeners[index].kubernetes?.namespace == nil {
            listeners[index].kubernetes?.namespace = namespace
        }
    }

    /// The listeners as FanoutCore values.
    public var desiredState: DesiredState { DesiredState(listeners: listeners.map(\.listener)) }
}

/// What became of a configuration file.
public enum ConfigurationResult: Equatable, Sendable {
    /// It can be used; `warnings` are in line order.
    case valid(Configuration, warnings: [ConfigProblem])
    /// It cannot: at least one problem, all that were found, in line order.
    case invalid([ConfigProblem])
}

extension Configuration {
    /// Reads the file at `path`, at most `SourceLimits.bytes` of it, and checks all of it.
    public static func load(path: String) -> ConfigurationResult {
        do {
            return read(try ConfigFile.bytes(of: path), file: path)
        } catch {
            return .invalid([error])
        }
    }

    /// Reads YAML text that the caller holds as bytes; `file` is what problems call it.
    public static func read(_ bytes: [UInt8], file: String) -> ConfigurationResult {
        let source: SourceText
        do throws(ConfigProblem) {
            source = try SourceText(bytes, file: file)
        } catch {
            return .invalid([error])
        }
        do throws(ConfigProblems) {
            return Document(try source.tree(), file: file).result
        } catch {
            return .invalid(error.list)
        }
    }

    /// Reads YAML text; `file` is what problems call it.
    public static func read(_ text: String, file: String) -> ConfigurationResult {
        read(Array(text.utf8), file: file)
    }
}

extension Configuration {
    /// The configuration as YAML: every key that has a value, written or by default.
    ///
    /// It loads back to an equal configuration. (That of some thousand listeners exceeds
    /// `SourceLimits`, since each listener shows all of its settings, and serves for reading only.)
    public var effectiveYAML: String {
        var writer = YAMLWriter()
        writer.open(.listeners)
        for listener in listeners { writer.item { $0.write(listener) } }
        writer.close()
        writer.section(.settings) {
            $0.write(settings)
            let kept = KeptCapability.allCases.filter(keptCapabilities.contains)
            if !kept.isEmpty {
                $0.plain(.keepCapabilities, "[\(kept.map(\.rawValue).joined(separator: ", "))]")
            }
        }
        writer.section(.health) {
            $0.plain(.healthEnabled, health.enabled)
            $0.plain(.healthInterval, health.interval.components.seconds)
            $0.plain(.healthTimeout, health.timeout.components.seconds)
            $0.plain(.healthProtocol, health.probeProtocol.rawValue)
            if let port = health.port { $0.plain(.healthPort, port) }
            if let payload = health.payload { $0.text(.healthPayload, payload) }
            if let preset = health.payloadPreset { $0.plain(.healthPayloadPreset, preset.rawValue) }
            if let secret = health.radiusSecret { $0.text(.healthRADIUSSecret, secret) }
            $0.plain(.healthRise, health.rise)
            $0.plain(.healthFall, health.fall)
            $0.plain(.healthMinHealthy, health.minHealthyPercent)
            $0.plain(.healthPassive, health.passive)
        }
        writer.section(.metrics) {
            $0.plain(.metricsEnabled, metrics.enabled)
            $0.text(.metricsBind, metrics.bind.description)
            $0.text(.metricsPath, metrics.path)
            if !metrics.serverNames.isEmpty {
                let names = metrics.serverNames.map(YAMLWriter.quote).joined(separator: ", ")
                $0.plain(.metricsServerNames, "[\(names)]")
            }
        }
        writer.section(.control) {
            $0.plain(.controlEnabled, control.enabled)
            if let socket = control.socket { $0.text(.controlSocket, socket) }
        }
        return writer.output
    }
}

/// Lines of YAML, indented by the depth of the sections around them. Every text is quoted, so that
/// no reader takes `no` or `1:30` for anything else.
private struct YAMLWriter {
    private(set) var output = ""
    private var depth = 0
    /// Set between a list item's dash and its first key.
    private var atItem = false

    mutating func open(_ key: ConfigKey) {
        line("\(key.name):")
        depth += 1
    }

    mutating func close() { depth -= 1 }

    mutating func section(_ key: ConfigKey, _ body: (inout YAMLWriter) -> Void) {
        open(key)
        body(&self)
        close()
    }

    mutating func item(_ body: (inout YAMLWriter) -> Void) {
        atItem = true
        depth += 1
        body(&self)
        depth -= 1
    }

    mutating func plain(_ key: ConfigKey, _ value: some CustomStringConvertible) {
        line("\(key.name): \(value)")
    }

    mutating func text(_ key: ConfigKey, _ value: String) { plain(key, Self.quote(value)) }

    private mutating func line(_ text: String) {
        output += String(repeating: "  ", count: atItem ? depth - 1 : depth)
        output += (atItem ? "- " : "") + text + "\n"
        atItem = false
    }

    /// A double-quoted YAML text; what does not print is escaped.
    static func quote(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" {
                result += "\\\(scalar)"
            } else if scalar.isControl || scalar.isUnassigned {
                let digits = String(scalar.value, radix: 16)
                result += "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

extension YAMLWriter {
    mutating func write(_ listener: ListenerConfiguration) {
        text(.listenerName, listener.name)
        place(of: listener)
        plain(.listenerMode, listener.mode.rawValue)
        plain(.listenerBalance, listener.balance.rawValue)
        plain(.listenerPreserveSource, listener.preserveSource)
        if let interface = listener.interface { text(.listenerInterface, interface) }
        switch listener.addresses {
        case .any: plain(.listenerAddresses, "any")
        case .listed(let addresses) where listener.mode.needsInterface:
            let list = addresses.map { Self.quote($0.description) }.joined(separator: ", ")
            plain(.listenerAddresses, "[\(list)]")
        case .listed: break
        }
        if listener.mode == .xdpNAT { write(listener.nat) }
        if let kubernetes = listener.kubernetes {
            section(.listenerKubernetes) { $0.write(kubernetes) }
        } else if let file = listener.file {
            section(.listenerFile) {
                $0.text(.filePath, file.path)
                if let port = file.port { $0.plain(.filePort, port) }
            }
        } else if let dns = listener.dns {
            section(.listenerDNS) {
                $0.text(.dnsName, dns.name)
                if let port = dns.port { $0.plain(.dnsPort, port) }
                if let server = dns.server { $0.text(.dnsServer, server.description) }
            }
        } else {
            open(.listenerDownstream)
            for downstream in listener.downstreams {
                item {
                    $0.text(.downstreamName, downstream.name)
                    $0.text(.downstreamAddress, downstream.address.description)
                    $0.plain(.downstreamWeight, downstream.weight)
                    if let mac = downstream.mac { $0.text(.downstreamMAC, mac) }
                }
            }
            close()
        }
        section(.listenerSettings) { $0.write(listener.settings) }
    }

    private mutating func place(of listener: ListenerConfiguration) {
        guard !listener.nat.furtherPorts.isEmpty else {
            text(.listenerBind, listener.bind.description)
            return
        }
        let ports = [listener.bind.port] + listener.nat.furtherPorts
        text(.listenerVIP, listener.bind.address.description)
        plain(.listenerPorts, ports)
    }

    private mutating func write(_ nat: NATSettings) {
        plain(.listenerProtocol, nat.transport.rawValue)
        plain(.listenerOneArm, nat.isOneArm)
        plain(.listenerMaxAssociations, nat.maxAssociations)
        plain(.listenerUnanswered, nat.keepsUnansweredApart)
    }

    private mutating func write(_ kubernetes: KubernetesConfiguration) {
        if let namespace = kubernetes.namespace { text(.kubernetesNamespace, namespace) }
        text(.kubernetesService, kubernetes.service)
        switch kubernetes.port {
        case .number(let number): plain(.kubernetesPort, number)
        case .name(let name): text(.kubernetesPort, name)
        }
        plain(.kubernetesVIP, kubernetes.vip)
    }

    mutating func write(_ settings: ListenerSettings) {
        plain(.maxPacketSize, settings.maxPacketSize)
        plain(.maxDownstream, settings.maxDownstream)
        plain(.batchSize, settings.batchSize)
        plain(.workers, settings.workers)
        plain(.pinCPUs, settings.pinCPUs)
        plain(.receiveBuffer, settings.receiveBufferBytes)
        plain(.sharePort, settings.sharePort)
        plain(.steer, settings.steer.rawValue)
        plain(.tcAttach, settings.tcAttach.rawValue)
        plain(.seed, Int(settings.seed))
        plain(.xdpMode, settings.xdpMode.rawValue)
        plain(.busyPoll, settings.busyPoll)
        plain(.slowStart, settings.slowStartSeconds)
    }
}

extension Configuration {
    /// What this file asks for and a build that carries only `modes` cannot do: one problem for each place, in line order.
    public func unsupported(modes: Set<ForwardingMode>) -> [ConfigProblem] {
        let instead = ForwardingMode.allCases.filter(modes.contains).map(\.rawValue)
        var problems: [ConfigProblem] = []
        for listener in listeners {
            if !modes.contains(listener.mode) {
                problems.append(
                    ConfigProblem(
                        at: listener.modeOrigin,
                        what: "mode \(listener.mode.rawValue) is not part of this build",
                        remedy: "write mode: \(instead.joined(separator: " or mode: "))"))
            }
        }
        return problems.sorted(by: ConfigProblem.isBefore)
    }
}
