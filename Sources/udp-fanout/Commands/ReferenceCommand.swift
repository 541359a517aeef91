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
