// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

/// The report at the end of a run.
struct Report: Sendable {
    /// Why it ended.
    enum Ending: Equatable, Sendable {
        case count
        case duration
        case early(Stop.Reason)
    }

    let destination: Endpoint
    let totals: Totals
    /// Different source addresses.
    let sources: Int
    let workers: Int
    let nanoseconds: Int64
    let ending: Ending

    private var seconds: Double { Double(nanoseconds) / 1e9 }

    /// Datagrams sent a second; 0 for a run without duration.
    private var rate: Double { nanoseconds > 0 ? Double(totals.sent) / seconds : 0 }

    /// As text: a line, and one more for each errno.
    var text: String {
        var lines = [
            "sent \(totals.sent) of \(counted(totals.attempted, "datagram")), "
                + "\(counted(totals.bytes, "byte")), from \(counted(UInt64(sources), "source")) "
                + "to \(destination) in \(rounded(seconds, 10)) s: \(rateText) a second"
        ]
        for (code, count) in errors {
            lines.append("failed \(count): \(SystemError("send", code: code).reason)")
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// As one JSON object on one line (RFC 8259).
    var json: String {
        let failures = errors.map { code, count in
            "\(quoted(SystemError("send", code: code).name)):\(count)"
        }
        let members = [
            "\"destination\":\(quoted("\(destination)"))",
            "\"attempted\":\(totals.attempted)", "\"sent\":\(totals.sent)",
            "\"failed\":\(totals.failed)", "\"errors\":{\(failures.joined(separator: ","))}",
            "\"bytes\":\(totals.bytes)", "\"sources\":\(sources)", "\"workers\":\(workers)",
            "\"seconds\":\(rounded(seconds, 1000))", "\"rate\":\(rounded(rate, 1000))",
            "\"ended\":\(quoted(endingText))",
        ]
        return "{\(members.joined(separator: ","))}\n"
    }

    /// The errors, the most frequent first.
    private var errors: [(Int32, UInt64)] {
        totals.errors.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    }

    private var endingText: String {
        switch ending {
        case .count: "count"
        case .duration: "duration"
        case .early(.signal(let signal)): signal.rawValue
        case .early(.closed): "closed"
        }
    }

    private var rateText: String {
        rate < 100 ? "\(rounded(rate, 100))" : "\(Int(rate.rounded()))"
    }

    private func counted(_ count: UInt64, _ noun: String) -> String {
        "\(count) \(noun)\(count == 1 ? "" : "s")"
    }

    private func rounded(_ value: Double, _ parts: Double) -> Double {
        (value * parts).rounded() / parts
    }

    private func quoted(_ text: String) -> String {
        // A zone may contain either character; our texts contain no others that JSON escapes.
        let escaped = text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
        return "\"\(String(escaped))\""
    }
}

/// The output during a run: each message if it is slow, else a line a second.
struct Commentary: Sendable {
    let destination: Endpoint
    /// The source address that the kernel chose.
    let chosenSource: IPAddress
    /// Standard error when standard output has only the report.
    let stream: StandardStream

    /// Prints the result of message `number`.
    ///
    /// - Parameters:
    ///   - source: nil = the one that the kernel chose.
    ///   - error: the errno, or 0.
    /// - Returns: whether the output still has a reader.
    func attempted(_ number: UInt64, from source: IPAddress?, error: Int32) -> Bool {
        let what = "\(Message.text(number)) to \(destination) from \(source ?? chosenSource)"
        guard error != 0 else { return say("sent \(what)") }
        return say("failed \(what): \(SystemError("send", code: error).reason)")
    }

    /// A line a second: on a terminal it replaces the previous one.
    ///
    /// - Parameter recent: datagrams sent a second since the last line.
    /// - Returns: whether the output still has a reader.
    func progress(_ totals: Totals, seconds: Int, recent: Double) -> Bool {
        var line = "\(seconds) s: sent \(totals.sent), \(Int(recent.rounded())) a second"
        if totals.failed > 0 { line += ", failed \(totals.failed)" }
        // To the beginning of the line, and the rest of it erased (ECMA-48: CR, EL).
        return stream.isTerminal ? stream.write("\r\(line)\u{1b}[K") : say(line)
    }

    /// Removes the progress line from a terminal.
    func clear() {
        if stream.isTerminal { stream.write("\r\u{1b}[K") }
    }

    private func say(_ line: String) -> Bool {
        // A log without a reader is ignored; output without a reader ends the run.
        stream.write(line + "\n") || stream == .error
    }
}
