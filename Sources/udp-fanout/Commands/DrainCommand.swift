// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutControlSocket

struct DrainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Have a receiver get no new traffic, until undrain or the daemon's end.",
        discussion: """
            It works as a weight of 0 would and outlasts a reload; flows that a mode remembers stay with \
            the receiver. `udp-fanout status` shows who is drained.
            """)

    @Argument(help: "LISTENER/RECEIVER, or a RECEIVER of whichever listener.")
    var name: String

    @OptionGroup var control: ControlOptions

    func run() throws {
        guard let report = try control.ask(ControlRequest(.drain, name: name)).drain else { return }
        let done = report.changed ? "drained" : "drained already"
        var text = "\(done): \(report.receivers.joined(separator: ", "))\n"
        for listener in report.listenersWithoutReceiver {
            text += "listener \(listener) has no receiver left: it drops what arrives\n"
        }
        try control.show(text)
    }
}

struct UndrainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undrain", abstract: "Put a drained receiver back in service.")

    @Argument(help: "LISTENER/RECEIVER, or a RECEIVER of whichever listener.")
    var name: String

    @OptionGroup var control: ControlOptions

    func run() throws {
        guard let report = try control.ask(ControlRequest(.undrain, name: name)).drain else {
            return
        }
        let done = report.changed ? "in service" : "was not drained"
        try control.show("\(done): \(report.receivers.joined(separator: ", "))\n")
    }
}
