// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import LinuxNet

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Report every error in the configuration file.",
        discussion: """
            Errors and warnings go to standard error, one a line. Nothing is opened or started. Exits 0 \
            if the daemon would accept the file, else 1.
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
            StandardStream.error.write("check: cannot write to standard output\n")
            throw ExitCode(1)
        }
    }
}

/// The path of the configuration: `--config`, else the first usual place with a file.
struct ConfigOption: ParsableArguments {
    /// The file in the working directory, then the packages' file.
    static let usualPaths = ["config.yaml", "/etc/udp-fanout/config.yaml"]

    @Option(
        name: [.long, .customShort("c")],
        help: """
            The YAML configuration file: a regular file, or a link to one. (default: ./config.yaml, then \
            /etc/udp-fanout/config.yaml)
            """)
    var config: String?

    /// - Throws: `ExitCode` 1, after an error message, without `--config` and without a file in the usual places.
    func path() throws -> String {
        if let config { return config }
        if let found = Self.usualPaths.first(where: { FileState(of: $0) != nil }) { return found }
        StandardStream.error.write(
            "configuration: neither ./config.yaml nor /etc/udp-fanout/config.yaml exists; "
                + "write the file, or give its path with --config\n")
        throw ExitCode(1)
    }
}
