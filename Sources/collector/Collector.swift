// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import LinuxNet
internal import ReusePortLB

/// The command line. Exit codes: 0 after an orderly end, 1 when it cannot start or go on, 2 for bad usage.
@main
struct Collector: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "collector",
        abstract: "One of several processes that share a UDP port, each source's datagrams to one.",
        discussion: """
            `collector IP PORT INDEX COUNT` joins slot INDEX of COUNT in the SO_REUSEPORT group bound \
            to IP:PORT and prints what it receives and from whom. The group is made when it does not \
            exist, which needs root; `collector create` makes one that others may join.
            """,
        version: "0.1.0 (reuseport library \(ReusePortGroup.libraryVersion))",
        subcommands: [
            ReceiveCommand.self, CreateCommand.self, StatusCommand.self, DestroyCommand.self,
        ],
        defaultSubcommand: ReceiveCommand.self)

    static func main() async {
        StandardStream.prepare()
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
