// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import LinuxNet

/// The command line. Exit codes: 0 after an orderly end, 1 for a start-up or configuration error, 2 for
/// bad usage.
@main
struct UDPFanout: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "udp-fanout",
        abstract: "Forward each UDP datagram to exactly one of several receivers.",
        discussion: """
            Without a subcommand the daemon runs: `udp-fanout --config FILE` is `udp-fanout run --config \
            FILE`. It reloads its configuration on SIGHUP and when the file changes. On SIGTERM or \
            Ctrl+C it forwards the datagrams that it has received, and ends.
            """,
        version: Version.description,
        subcommands: [
            RunCommand.self, CheckCommand.self, StatusCommand.self, TopCommand.self,
            ExplainCommand.self, DrainCommand.self, UndrainCommand.self, ReloadCommand.self,
            DoctorCommand.self, SchemaCommand.self, ReferenceCommand.self, DemoCommand.self,
            NATCommand.self,
        ],
        defaultSubcommand: RunCommand.self)

    /// Descriptors and threads that the runtime, every data plane and one worker need at once.
    private static let room = (descriptors: 32, threads: 16)

    static func main() async {
        // First of all: a SIGHUP in the first milliseconds must not end a starting daemon.
        let hangUp = HangUp.ignored()
        StandardStream.prepare()
        do {
            let arguments = NATArguments.translated(Array(CommandLine.arguments.dropFirst()))
            var command = try parseAsRoot(arguments)
            if type(of: command) is any RunsDaemon.Type {
                try prepareDaemon()
            } else {
                hangUp.restore()
            }
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let error as ExitCode {
            ThisProcess.exitNow(error.rawValue)
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

    /// - Throws: `ExitCode` 1, after an error message, when descriptors or threads run short: the runtime would crash.
    private static func prepareDaemon() throws {
        // Before the first thread is started: each thread would get its own heap.
        ThisProcess.shareHeaps()
        let limit = ThisProcess.raiseOpenFiles()
        do throws(SystemError) {
            try ThisProcess.expectRoom(descriptors: room.descriptors, threads: room.threads)
        } catch {
            let (need, remedy) =
                error.operation == "open"
                ? (
                    "no room for \(room.descriptors) more open files; the limit is \(limit)",
                    "raise ulimit -n, or LimitNOFILE of the unit"
                )
                : (
                    "no room for \(room.threads) more threads",
                    "raise ulimit -u, pids.max of the cgroup, or TasksMax of the unit"
                )
            StandardStream.error.write("start udp-fanout: \(need) (\(error.name)); \(remedy)\n")
            throw ExitCode(1)
        }
    }
}

/// A command that becomes a daemon.
private protocol RunsDaemon {}

extension RunCommand: RunsDaemon {}
extension NATRunCommand: RunsDaemon {}
extension DemoCommand: RunsDaemon {}
