// SPDX-License-Identifier: Apache-2.0

public import FanoutCore

/// A configuration file, with the defaults filled in.
///
/// A value that `load` or `read` returns has passed every check that can be made on the file alone;
/// whether an interface exists or a port is free shows only when it is used.
public struct Configuration: Equatable, Sendable {
    /// At least one, in the order of the file; names are unique and no two bind addresses collide.
    public var listeners: [ListenerConfiguration]
    /// The top-level `settings`; each listener's `settings` already contain them.
    public var settings: ListenerSettings
    public var health: HealthConfiguration
    public var metrics: MetricsConfiguration
    public var control: ControlConfiguration
    /// Capabilities that the process does not release after the start, for later reloads.
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

    init() { self.init(listeners: []) }

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
            return decode(try source.tree(), file: file)
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
