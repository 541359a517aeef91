// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// A configuration file, with the defaults filled in.
///
/// A value that `load` or `read` returns has passed every check on the file alone. Whether an interface exists or a
/// port is free is found out when it is used.
public struct Configuration: Equatable, Sendable {
    /// At least one, in the order of the file; names are unique and no two bind addresses collide.
    public var listeners: [ListenerConfiguration] = []
    /// The top-level `settings`; each listener's `settings` already contain them.
    public var settings = ListenerSettings()
    public var health = HealthConfiguration()
    public var metrics = MetricsConfiguration()
    public var control = ControlConfiguration()
    /// Capabilities that the process keeps after the start, for later reloads.
    public var keptCapabilities: Set<KeptCapability> = []

    init() {}

    public init(
        listeners: [ListenerConfiguration], settings: ListenerSettings = ListenerSettings(),
        metrics: MetricsConfiguration = MetricsConfiguration(),
        control: ControlConfiguration = ControlConfiguration()
    ) {
        self.listeners = listeners
        self.settings = settings
        self.metrics = metrics
        self.control = control
    }

    /// The key `settings`.
    var settingsSection: SettingsSection {
        get {
            SettingsSection(
                listener: settings,
                keptCapabilities: KeptCapability.allCases.filter(keptCapabilities.contains))
        }
        set { (settings, keptCapabilities) = (newValue.listener, Set(newValue.keptCapabilities)) }
    }

    /// Sets the namespace of services without one.
    public mutating func settle(namespace: String) {
        for index in listeners.indices where listeners[index].kubernetes?.namespace == nil {
            listeners[index].kubernetes?.namespace = namespace
        }
    }

    /// The listeners as FanoutCore values.
    public var desiredState: DesiredState { DesiredState(listeners: listeners.map(\.listener)) }
}

/// The result of reading a configuration file.
public enum ConfigurationResult: Equatable, Sendable {
    /// It is valid; `warnings` are in line order.
    case valid(Configuration, warnings: [ConfigProblem])
    /// It is invalid: all problems found, at least one, in line order.
    case invalid([ConfigProblem])
}

extension Configuration {
    /// Reads and checks the file at `path`, at most `SourceLimits.bytes` of it.
    public static func load(path: String) -> ConfigurationResult {
        do {
            return read(try ConfigFile.bytes(of: path), file: path)
        } catch {
            return .invalid([error])
        }
    }

    /// Reads YAML from bytes; `file` is its name in problems.
    public static func read(_ bytes: [UInt8], file: String) -> ConfigurationResult {
        do throws(ConfigProblems) {
            return decode(try SourceText.tree(of: bytes, file: file), file: file)
        } catch {
            return .invalid(error.list)
        }
    }

    /// Reads YAML text; `file` is its name in problems.
    public static func read(_ text: String, file: String) -> ConfigurationResult {
        read(Array(text.utf8), file: file)
    }
}

extension Configuration {
    /// One problem for each listener whose mode is not in `modes`, those of the build; in line order.
    public func unsupported(modes: Set<ForwardingMode>) -> [ConfigProblem] {
        let instead = ForwardingMode.allCases.filter(modes.contains).map(\.rawValue)
        return listeners.filter { !modes.contains($0.mode) }.map { listener in
            ConfigProblem(
                at: listener.modeOrigin,
                what: "mode \(listener.mode.rawValue) is not part of this build",
                remedy: "write mode: \(instead.joined(separator: " or mode: "))")
        }.sorted(by: ConfigProblem.isBefore)
    }
}

/// `metrics`: the HTTP server that Prometheus scrapes.
public struct MetricsConfiguration: Equatable, Sendable {
    public var enabled = false
    /// The TCP address of the server.
    public var bind = Endpoint(IPAddress(v4: 0), port: 9090)
    /// Begins with `/`; never a path of the health endpoints.
    public var path = "/metrics"
    /// Further host names that browsers may use for the status page; in lower case.
    public var serverNames: [String] = []

    public init() {}

    public init(enabled: Bool, bind: Endpoint) {
        self.enabled = enabled
        self.bind = bind
    }
}

/// `control`: the unix socket for `udp-fanout status` and other commands.
public struct ControlConfiguration: Equatable, Sendable {
    public var enabled = true
    /// An absolute path of at most 96 bytes; nil for the default, which depends on the daemon's user.
    public var socket: String?

    public init() {}

    public init(enabled: Bool) { self.enabled = enabled }
}

/// A capability in `settings.keep_capabilities`, as in capabilities(7) without `CAP_`.
public enum KeptCapability: String, CaseIterable, Hashable, Sendable {
    /// For `preserve_source` in userspace, and `icmp` probes.
    case netRaw = "net_raw"
    /// For ports below 1024.
    case netBindService = "net_bind_service"
    /// For the kernel modes, and receive buffers above `net.core.rmem_max`.
    case netAdmin = "net_admin"
    /// For the kernel modes.
    case bpf
    case perfmon
}
