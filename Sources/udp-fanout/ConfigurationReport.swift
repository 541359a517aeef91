// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import FanoutCore
internal import FanoutDiscovery
internal import LinuxNet
internal import Logging

/// A configuration file as this build sees it: what it can run, or everything that is wrong with it.
struct ConfigurationReport {
    let configuration: Configuration?
    let warnings: [ConfigProblem]
    let errors: [ConfigProblem]
    /// The file's state just before it was read; nil when it was not there.
    let source: FileState?

    /// The modes whose data planes are part of this build.
    static var modes: Set<ForwardingMode> {
        #if KernelModes
            [.userspace, .tcEBPF, .afXDP, .xdpNAT]
        #else
            [.userspace]
        #endif
    }

    init(path: String) {
        source = FileState(of: path)
        switch Configuration.load(path: path) {
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
    /// - Throws: `ExitCode` 1 after every error was printed, a line each.
    func accepted(_ logger: Logger) throws -> Configuration {
        guard let configuration else {
            for problem in errors { StandardStream.error.write("\(problem)\n") }
            throw ExitCode(1)
        }
        for warning in warnings { logger.warning("\(warning)") }
        return configuration
    }
}
