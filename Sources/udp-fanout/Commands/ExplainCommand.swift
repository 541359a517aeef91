// SPDX-License-Identifier: Apache-2.0

internal import ArgumentParser
internal import FanoutControl
internal import FanoutCore

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Show which receiver would get a datagram, and why.",
        discussion: """
            The running daemon replies, so that weights, health and drained receivers count. Nothing is \
            sent.
            """)

    @Argument(help: "The sender, ip:port or [ip6]:port.")
    var from: String

    @Argument(help: "The destination, ip:port or [ip6]:port.")
    var to: String

    @Option(
        help: ArgumentHelp(
            "The UDP payload in hexadecimal digits, for a listener with balance: payload.",
            valueName: "hex"))
    var payload: String?

    @OptionGroup var control: ControlOptions

    func validate() throws {
        if let payload, [UInt8](hexadecimal: payload) == nil {
            throw ValidationError("--payload takes pairs of hexadecimal digits")
        }
        for text in [from, to] {
            do throws(Endpoint.Malformed) {
                _ = try Endpoint(parsing: text)
            } catch {
                throw ValidationError(error.reason)
            }
        }
    }

    func run() throws {
        let request = ControlRequest(.explain, from: from, to: to, payload: payload)
        guard let explanation = try control.ask(request).explanation else { return }
        try control.show(Self.text(explanation))
    }

    static func text(_ report: ExplanationReport) -> String {
        let head = "\(report.from) → \(report.to): "
        var lines: [String] = []
        if let receiver = report.receiver {
            lines.append(head + "\(receiver) (\(report.receiverAddress ?? "?"))")
        } else if report.slots == 0 {
            lines.append(head + "no receiver")
        } else {
            lines.append(head + "any of the receivers below")
        }
        lines += report.reasons.map { "  \($0)" }
        var table = TextTable(["receiver", "address", ">slots", ">share"])
        for share in report.shares {
            let percent = report.slots == 0 ? 0 : Double(share.slots) * 100 / Double(report.slots)
            table.add([share.name, share.address, "\(share.slots)", percent.tenths + " %"])
        }
        lines += [""] + table.lines.map { "  \($0)" }
        return lines.joined(separator: "\n") + "\n"
    }
}
