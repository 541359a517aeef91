// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import LinuxNet

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of the configuration file, for editors.",
        discussion: """
            An editor with a YAML language server checks and completes a file that begins with \
            `# yaml-language-server: $schema=PATH`. `udp-fanout check` refuses more: what a schema cannot say.
            """)

    func run() throws {
        guard StandardStream.output.write(ConfigurationSchema.text) else { throw ExitCode(1) }
    }
}
