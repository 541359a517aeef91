// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutControl
internal import FanoutCore
internal import LinuxNet

struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract:
            "Show the status repeatedly: redrawn on a terminal, else one line for each listener.",
        discussion: "NO_COLOR in the environment turns colours off. Ctrl+C ends it.")

    @Option(help: "Seconds between updates, 0.1 to 3600.")
    var interval = 1.0

    @Option(help: "Number of updates; 0 = until Ctrl+C.")
    var count = 0

    @OptionGroup var control: ControlOptions

    func validate() throws {
        guard (0.1...3600).contains(interval) else {
            throw ValidationError("--interval takes seconds, 0.1 to 3600")
        }
        guard count >= 0 else { throw ValidationError("--count takes a number, 0 or more") }
    }

    func run() async throws {
        let isTerminal = StandardStream.output.isTerminal && !control.json
        var looks = 0
        while true {
            guard let status = try control.ask(ControlRequest(.status)).status else { return }
            try control.show(isTerminal ? screen(status) : Self.plain(status))
            looks += 1
            if count > 0, looks == count { return }
            try await Task.sleep(for: .seconds(interval))
        }
    }

    /// Draws from the top of the screen and clears the rest (ECMA-48: CUP, EL, ED).
    private func screen(_ status: StatusReport) -> String {
        let lines = StatusText(status, paint: .ofOutput).lines
        return "\u{1b}[H" + lines.map { $0 + "\u{1b}[K\n" }.joined() + "\u{1b}[J"
    }

    /// A line for each listener, for a file or a pipe.
    static func plain(_ status: StatusReport) -> String {
        status.listeners.map { listener in
            let rates = listener.rates
            let receivers = listener.receivers.map { receiver in
                let state =
                    receiver.word == ReceiverState.ready.rawValue ? "" : "(\(receiver.word))"
                return "\(receiver.name)\(state)=\(receiver.rates.packetsForwarded.tenths)"
            }
            return "\(listener.name) received/s=\(rates.packetsReceived.tenths) "
                + "forwarded/s=\(rates.packetsForwarded.tenths) "
                + "dropped/s=\(rates.packetsDropped.tenths) "
                + receivers.joined(separator: " ") + "\n"
        }.joined()
    }
}
