// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import LinuxNet

/// Where the configuration is: `--config`, else the first of the usual places that holds a file.
struct ConfigOption: ParsableArguments {
    /// Relative to the working directory, then what packages install.
    static let usualPaths = ["config.yaml", "/etc/udp-fanout/config.yaml"]

    @Option(
        name: [.long, .customShort("c")],
        help:
            "The YAML configuration file. (default: ./config.yaml, then /etc/udp-fanout/config.yaml)"
    )
    var config: String?

    /// - Throws: `ExitCode` 1, having said so, when there is no `--config` and no file in the usual places.
    func path() throws -> String {
        if let config { return config }
        if let found = Self.usualPaths.first(where: { FileState(of: $0) != nil }) { return found }
        StandardStream.error.write(
            "configuration: neither ./config.yaml nor /etc/udp-fanout/config.yaml exists; "
                + "write the file, or give its path with --config\n")
        throw ExitCode(1)
    }
}
