// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import LinuxNet

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Print the effective configuration, or every error in the file.",
        discussion: """
            Standard output gets the configuration with every key and default, as YAML that can be \
            used in its place; standard error gets errors and warnings. Nothing is opened or started. \
            Exits 0 when the daemon would accept the file, else 1.
            """)

    @Option(name: [.long, .customShort("c")], help: "The YAML configuration file.")
    var config = "config.yaml"

    func run() throws {
        let report = ConfigurationReport(path: config)
        for problem in report.errors { StandardStream.error.write("\(problem)\n") }
        for warning in report.warnings { StandardStream.error.write("warning: \(warning)\n") }
        guard let configuration = report.configuration else { throw ExitCode(1) }
        guard StandardStream.output.write(configuration.effectiveYAML) else {
            StandardStream.error.write("check: standard output takes no more\n")
            throw ExitCode(1)
        }
    }
}
