// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutControl
internal import LinuxNet

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show listeners, receivers, health, rates and hooks of the running daemon.")

    @OptionGroup var control: ControlOptions

    func run() throws {
        guard let status = try control.ask(ControlRequest(.status)).status else { return }
        try control.show(StatusText(status).text)
    }
}

struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Reload the daemon's configuration, and report the result.",
        discussion: """
            Exits 0 if the file is applied. Otherwise exits 1 with every problem on standard error, and \
            the previous configuration stays active.
            """)

    @OptionGroup var control: ControlOptions

    func run() throws {
        guard let report = try control.ask(ControlRequest(.reload)).reload else { return }
        if !control.json {
            for warning in report.warnings { StandardStream.error.write("warning: \(warning)\n") }
            for problem in report.problems { StandardStream.error.write("\(problem)\n") }
        }
        guard report.problems.isEmpty else { throw ExitCode(1) }
        let changes = report.changes.sorted { $0.key < $1.key }
        try control.show(
            "reloaded: " + changes.map { "\($0.key) \($0.value)" }.joined(separator: ", ") + "\n")
    }
}

struct DrainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Stop new traffic to a receiver, until undrain or the daemon's end.",
        discussion: """
            It works like a weight of 0, also across reloads. Flows that a mode remembers stay with the \
            receiver. `udp-fanout status` shows the drained receivers.
            """)

    @Argument(help: "LISTENER/RECEIVER, or a RECEIVER of any listener.")
    var name: String

    @OptionGroup var control: ControlOptions

    func run() throws {
        guard let report = try control.ask(ControlRequest(.drain, name: name)).drain else { return }
        let done = report.changed ? "drained" : "drained already"
        var text = "\(done): \(report.receivers.joined(separator: ", "))\n"
        for listener in report.listenersWithoutReceiver {
            text += "listener \(listener) has no receiver left: it drops all datagrams\n"
        }
        try control.show(text)
    }
}

struct UndrainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undrain", abstract: "Return a drained receiver to service.")

    @Argument(help: "LISTENER/RECEIVER, or a RECEIVER of any listener.")
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
