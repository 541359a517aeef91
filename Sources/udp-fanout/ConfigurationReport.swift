// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import FanoutCore
internal import FanoutDiscovery
internal import LinuxNet
internal import Logging

/// The file that a daemon reads its configuration from, at its start and at each reload.
struct ConfigurationFile: Sendable {
    let path: String
    /// Whether a reload fails when the file vanishes; otherwise the daemon waits for its return.
    var tellsOfAbsence = false
    var load: @Sendable (String) -> ConfigurationResult = { Configuration.load(path: $0) }
}

/// A configuration file as this build reads it: the configuration, or all its errors.
struct ConfigurationReport {
    let configuration: Configuration?
    let warnings: [ConfigProblem]
    let errors: [ConfigProblem]
    /// The file's state just before it was read; nil when it did not exist.
    let source: FileState?

    /// The modes whose data planes are part of this build.
    static var modes: Set<ForwardingMode> {
        #if KernelModes
            Set(ForwardingMode.allCases)
        #else
            [.userspace]
        #endif
    }

    init(path: String) { self.init(ConfigurationFile(path: path)) }

    init(_ file: ConfigurationFile) {
        source = FileState(of: file.path)
        switch file.load(file.path) {
        case .valid(var configuration, let warnings):
            configuration.settle(namespace: Sources.defaultNamespace)
            let unsupported = configuration.unsupported(modes: Self.modes)
            self.configuration = unsupported.isEmpty ? configuration : nil
            self.warnings = warnings
            errors = unsupported
        case .invalid(let problems):
            configuration = nil
            warnings = []
            errors = problems
        }
    }

    /// The configuration, for a start.
    ///
    /// - Throws: `ExitCode` 1 after printing every error, one a line.
    func accepted(_ logger: Logger) throws -> Configuration {
        guard let configuration else {
            for problem in errors { StandardStream.error.write("\(problem)\n") }
            throw ExitCode(1)
        }
        for warning in warnings { logger.warning("\(warning)") }
        return configuration
    }
}
