// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutConfig
internal import FanoutMetrics
internal import LinuxNet

struct ReferenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reference",
        abstract: "Print a page of the reference in Markdown: configuration or metrics.")

    enum Page: String, ExpressibleByArgument, CaseIterable { case configuration, metrics }

    @Argument(help: "configuration: every key; metrics: every metric, label and drop reason.")
    var page: Page

    func run() throws {
        let text =
            switch page {
            case .configuration: ConfigurationReference.markdown
            case .metrics: MetricsReference.markdown
            }
        guard StandardStream.output.write(text) else { throw ExitCode(1) }
    }
}

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of the configuration file, for editors.",
        discussion: """
            An editor with a YAML language server checks and completes a file that begins with \
            `# yaml-language-server: $schema=PATH`. The schema refuses wrong types and unknown keys; \
            `udp-fanout check` also checks rules that span keys and listeners.
            """)

    func run() throws {
        guard StandardStream.output.write(ConfigurationSchema.text) else { throw ExitCode(1) }
    }
}
