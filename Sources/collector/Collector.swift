// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import LinuxNet
internal import ReusePortLB

/// The command line. Exit codes: 0 after an orderly end, 1 when it cannot start or continue, 2 for bad usage.
@main
struct Collector: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "collector",
        abstract: "Share a UDP port among processes; each source's datagrams go to one of them.",
        discussion: """
            `collector IP PORT INDEX COUNT` joins slot INDEX of COUNT in the SO_REUSEPORT group bound \
            to IP:PORT and prints each datagram with its source. One collector gets all datagrams of a \
            source address. When it dies, its sources move to the others at once; when it returns, so do \
            they. If the group does not exist, it is created, which needs root; `collector create` \
            creates one that other users may join.
            """,
        version: "\(ReusePortGroup.libraryVersion) (BPF ABI \(ReusePortGroup.abiVersion))",
        subcommands: [
            ReceiveCommand.self, ExecCommand.self, AdoptCommand.self, CreateCommand.self,
            StatusCommand.self, MetricsCommand.self, ExplainCommand.self, DestroyCommand.self,
        ],
        defaultSubcommand: ReceiveCommand.self)

    /// The unknown command that `help` was asked about, which the parser does not report.
    private static var strangerToHelp: String? {
        let words = CommandLine.arguments.dropFirst()
        guard words.first == "help", let word = words.dropFirst().first, !word.hasPrefix("-") else {
            return nil
        }
        let isKnown = configuration.subcommands.contains { $0.configuration.commandName == word }
        return isKnown || word == "help" ? nil : word
    }

    static func main() async {
        StandardStream.prepare()
        if let stranger = strangerToHelp {
            let names = configuration.subcommands.compactMap { $0.configuration.commandName }
            StandardStream.error.write(
                "collector: unknown command '\(Printable.line(stranger))'; commands: "
                    + "\(names.joined(separator: ", "))\n")
            ThisProcess.exitNow(2)
        }
        do {
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            ThisProcess.exitNow(0)
        } catch let error as ExitCode {
            ThisProcess.exitNow(error.rawValue)
        } catch let error as ReusePortError {
            StandardStream.error.write("collector: \(error)\n")
            ThisProcess.exitNow(1)
        } catch {
            let text = fullMessage(for: error) + "\n"
            switch exitCode(for: error) {
            case .success:  // --help, --version
                StandardStream.output.write(text)
                ThisProcess.exitNow(0)
            case .validationFailure:
                StandardStream.error.write(text)
                ThisProcess.exitNow(2)
            default:
                StandardStream.error.write(text)
                ThisProcess.exitNow(1)
            }
        }
    }
}
