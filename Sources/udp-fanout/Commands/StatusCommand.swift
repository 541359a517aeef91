// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutControlSocket

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what the running daemon does: listeners, receivers, health, rates, hooks.")

    @OptionGroup var control: ControlOptions

    func run() throws {
        guard let status = try control.ask(ControlRequest(.status)).status else { return }
        try control.show(StatusText(status).text)
    }
}
