// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import LinuxNet

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Report every error in the configuration file.",
        discussion: """
            Errors and warnings go to standard error, a line each. Nothing is opened or started. Exits 0 \
            when the daemon would accept the file, else 1.
            """)

    @OptionGroup var file: ConfigOption

    @Flag(help: "Print the effective configuration: YAML with every key and default.")
    var dump = false

    func run() throws {
        let config = try file.path()
        let report = ConfigurationReport(path: config)
        for problem in report.errors { StandardStream.error.write("\(problem)\n") }
        for warning in report.warnings { StandardStream.error.write("warning: \(warning)\n") }
        guard let configuration = report.configuration else { throw ExitCode(1) }
        guard dump else { return }
        guard StandardStream.output.write(configuration.effectiveYAML) else {
            StandardStream.error.write("check: standard output takes no more\n")
            throw ExitCode(1)
        }
    }
}
