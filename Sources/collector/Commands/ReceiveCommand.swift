// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutCore
internal import LinuxNet
internal import ReusePortLB
internal import UnixSignals

struct ReceiveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receive",
        abstract: "Join a slot and print each datagram (the default).",
        discussion: """
            One line a datagram: source and text, or the first bytes if it is no text. On Ctrl+C or \
            SIGTERM it leaves the slot, reads the queue to its end, and prints a report with the counts \
            since its start.
            """)

    @Argument(
        help: "An address of this host, or 0.0.0.0 or ::.",
        transform: { text in
            guard let address = IPAddress(text) else {
                throw ValidationError("'\(text)' is not an IP address; names are not resolved")
            }
            return address
        })
    var ip: IPAddress

    @Argument(help: "The UDP port, 1 to 65535.")
    var port: UInt16

    @Argument(help: "The slot of this process, 0 to COUNT - 1.")
    var index: Int

    @Argument(
        help:
            "The number of slots, 1 to the group's capacity; a group with another count is resized."
    )
    var count: Int

    @Option(
        help: ArgumentHelp(
            "The group's name.",
            discussion: "Default: made of the address and port, such as "
                + "collector-10-0-2-15-10001.", valueName: "name"))
    var group: String?

    @Flag(
        help: ArgumentHelp(
            "Replace the live collector in the slot.",
            discussion: "It keeps the slot until this one has it, and ends half a second later; no "
                + "source goes to another slot, and no datagram is lost."))
    var replace = false

    @OptionGroup var root: PinRootFlag
    @OptionGroup var balance: BalanceFlags
    @OptionGroup var show: ShowFlags

    @Option(
        name: .customLong("count"),
        parsing: .unconditional,
        help: ArgumentHelp(
            "End after this many datagrams; not the number of slots.",
            valueName: "datagrams"))
    var limit: UInt64?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Receive buffer of the socket (SO_RCVBUF).", valueName: "bytes"))
    var recvBuffer: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Longest datagram; longer ones are truncated and counted.",
            valueName: "bytes"))
    var maxBytes = 65_535

    func validate() throws {
        guard port != 0 else { throw ValidationError("PORT must be a number from 1 to 65535") }
        try balance.check(count: count)
        guard (0..<count).contains(index) else {
            throw ValidationError(
                "INDEX must be a number from 0 to COUNT - 1, that is \(count - 1)")
        }
        if let group { try checkName(group) }
        guard limit != 0 else { throw ValidationError("--count takes a number from 1 up") }
        guard recvBuffer.map({ $0 > 0 }) ?? true else {
            throw ValidationError("--recv-buffer takes a number of bytes from 1 up")
        }
        guard (1...65_535).contains(maxBytes) else {
            throw ValidationError("--max-bytes takes a number from 1 to 65535")
        }
    }

    func run() async throws {
        // Signals are caught from here on, so that none ends the process halfway.
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let endpoint = Endpoint(ip, port: port)
        let reception = try Reception(
            name: group ?? GroupName.of(endpoint), endpoint, slot: index,
            GroupOptions(balance, root, count: count), receiveBuffer: recvBuffer,
            replacing: replace)
        warnOfSmallBuffer(reception)
        let tally = Tally()
        let worker = try ReceiveWorker(
            reception, tally, limit: limit, maximumBytes: maxBytes,
            printer: show.quiet ? nil : DatagramPrinter(isJSON: show.json))
        let listening = Task {
            for await signal in signals {
                if reception.isStopping { ThisProcess.exitNow(128 + signal.rawValue) }
                reception.stop()
            }
        }
        let watching = Task { await reception.stopWhenReplaced() }
        let display = StatsDisplay(reception, tally, show)
        let showing = Task { await display.run() }
        StandardStream.error.write(
            "collector: in slot \(index) of \(count) of group \(reception.name) at \(endpoint); "
                + "Ctrl+C ends it\n")
        let failure = await worker.finish()
        showing.cancel()
        await showing.value
        listening.cancel()
        watching.cancel()
        reception.stop()
        let isReported = display.report()
        if let failure {
            StandardStream.error.write("collector: \(failure)\n")
            throw ExitCode(1)
        }
        // A reader that is gone is an orderly end; a full disk is an error.
        if !isReported, !StandardStream.output.isAbandoned {
            StandardStream.error.write(
                "collector: cannot write to standard output: is the disk full?\n")
            throw ExitCode(1)
        }
    }

    private func warnOfSmallBuffer(_ reception: Reception) {
        guard let recvBuffer, reception.socket.receiveBuffer < recvBuffer else { return }
        StandardStream.error.write(
            "collector: warning: the kernel granted \(reception.socket.receiveBuffer) of "
                + "\(recvBuffer) bytes for waiting datagrams; raise net.core.rmem_max, or run with "
                + "CAP_NET_ADMIN\n")
    }
}

/// How datagrams and counts are shown.
struct ShowFlags: ParsableArguments {
    @Flag(help: "Do not print datagrams; on a terminal update one line of counts.")
    var quiet = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Print the counts at this interval; fractions are allowed.", valueName: "seconds"))
    var statsInterval: Double?

    @Flag(help: "Print datagrams and counts as JSON, one object a line.")
    var json = false

    func validate() throws {
        guard statsInterval.map({ (0.01...86_400).contains($0) }) ?? true else {
            throw ValidationError("--stats-interval takes seconds, 0.01 to 86400")
        }
    }
}
