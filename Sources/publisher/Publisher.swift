// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutCore
internal import LinuxNet

/// The command line. Exit codes: 0 when the run has ended, also by a signal; 1 when it could not begin; 2 for bad
/// usage.
@main
struct Publisher: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publisher",
        abstract: "Send numbered UDP datagrams, 'Hello World 0!' and so on, at a steady rate.",
        discussion: """
            Of S sources datagram k leaves from source k mod S, so that each source sends in order. Up to \
            10 a second each message is printed; above, one line a second shows the progress. N, \
            --duration, Ctrl+C or SIGTERM ends it, whichever comes first, with a report of the datagrams \
            sent and failed. A datagram fails if the kernel does not accept it or, with --connect, if it \
            is refused.

              publisher 10.0.2.15 10001 100
              publisher 10.0.2.15 10001 0 --rate 50000 --sources 10.1.0.0/16 --workers 2
              publisher ::1 10001 0 --rate 0 --duration 10 --size 1400 --json
            """,
        version: BuildStamp.version)

    @Argument(
        help: "The receiver's IPv4 or IPv6 address; names are not resolved.",
        transform: Reading.receiver)
    var ip: IPAddress

    @Argument(help: "The receiver's UDP port.", transform: Reading.port)
    var port: UInt16

    @Argument(help: "Datagrams to send in total; 0 = without end.", transform: Reading.total)
    var n: UInt64

    @Option(
        parsing: .unconditional,
        help: "Datagrams a second of all workers; 0 = without limit. (default: 1)",
        transform: Reading.rate)
    var rate = 1.0

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Length of each payload; spaces pad the message.", valueName: "bytes"))
    var size: Int?

    @Option(
        help: ArgumentHelp(
            "Addresses of this host to send from, such as 127.0.0.0/24.",
            valueName: "A,B|CIDR"),
        transform: Reading.sources)
    var sources: SourceList?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End after this time.", valueName: "seconds"),
        transform: Reading.duration)
    var duration: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Threads; each serves its share of the sources.", valueName: "number"))
    var workers = 1

    @Flag(help: "Connect the socket of each source, so that refusals (ICMP) are counted.")
    var connect = false

    @Flag(help: "Print only the report.")
    var quiet = false

    @Flag(help: "Print the report as one JSON object; other messages go to standard error.")
    var json = false

    func validate() throws {
        if let size {
            let (least, most) = (Message.bytesNeeded(total: n), Message.bytesMax(ip.family))
            guard size >= least else {
                throw ValidationError(
                    "--size \(size) is too small: the messages of this run need up to \(least) "
                        + "bytes; give \(least) or more" + (n == 0 ? ", or an N" : ""))
            }
            guard size <= most else {
                throw ValidationError(
                    "--size \(size) is more than a datagram holds; give \(most) or less")
            }
        }
        guard (1...Self.workersMost).contains(workers) else {
            throw ValidationError("--workers takes a number from 1 to \(Self.workersMost)")
        }
        guard let list = sources?.addresses else { return }
        guard list[0].family == ip.family else {
            throw ValidationError(
                "--sources: \(list[0]) is \(list[0].family.rawValue), but IP \(ip) is "
                    + "\(ip.family.rawValue); give sources of the receiver's family")
        }
        guard !connect || list.count <= Plan.connectedMost else {
            throw ValidationError(
                "--connect takes a socket for each of --sources, \(Plan.connectedMost) at most, and "
                    + "not \(list.count); give fewer sources, or omit --connect")
        }
    }

    static let workersMost = 256

    func run() throws {
        let addresses = sources?.addresses ?? []
        let plan = Plan(
            destination: Endpoint(ip, port: port),
            pace: Pace(rate: rate, total: n, seconds: duration), size: size, sources: addresses,
            workers: addresses.isEmpty ? workers : min(workers, addresses.count),
            isConnected: connect)
        if plan.workers < workers, !quiet {
            StandardStream.error.write(
                "publisher: \(plan.workers) of \(workers) workers start, one for each source\n")
        }
        ThisProcess.raiseOpenFiles()
        TerminationSignal.block()
        do throws(StartError) {
            let stream: StandardStream = json ? .error : .output
            let report = try Session(plan, commentOn: quiet ? nil : stream).run()
            StandardStream.output.write(json ? report.json : report.text)
        } catch {
            StandardStream.error.write("publisher: \(error)\n")
            throw ExitCode(1)
        }
    }

    static func main() {
        StandardStream.prepare()
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch let error as ExitCode {
            ThisProcess.exitNow(error.rawValue)
        } catch {
            let text = fullMessage(for: error) + "\n"
            let isUsage = exitCode(for: error) == .validationFailure
            guard exitCode(for: error) == .success else {
                StandardStream.error.write(text)
                ThisProcess.exitNow(isUsage ? 2 : 1)
            }
            StandardStream.output.write(text)  // --help, --version
        }
        ThisProcess.exitNow(0)
    }
}
