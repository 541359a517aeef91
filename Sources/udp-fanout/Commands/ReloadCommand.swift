// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutControlSocket
internal import LinuxNet

struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Have the daemon read its configuration again, and say what came of it.",
        discussion: """
            Exits 0 when the file is in force, else 1 with every problem on standard error; the \
            configuration before then stays in force.
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
