// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

/// What a run did, for its end.
struct Report: Sendable {
    /// Why it ended.
    enum Ending: Equatable, Sendable {
        case count
        case duration
        case early(Stop.Reason)
    }

    let destination: Endpoint
    let totals: Totals
    /// Different addresses that datagrams left from.
    let sources: Int
    let workers: Int
    let nanoseconds: Int64
    let ending: Ending

    private var seconds: Double { Double(nanoseconds) / 1e9 }

    /// Datagrams sent a second; 0 when there was no time to measure.
    private var rate: Double { nanoseconds > 0 ? Double(totals.sent) / seconds : 0 }

    /// For a person: a line, and one more for each kind of failure.
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

    /// For a program: one JSON object in one line (RFC 8259).
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

    /// By count, the most frequent first.
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
        // A zone may hold either character; others that JSON escapes are in none of our texts.
        let escaped = text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
        return "\"\(String(escaped))\""
    }
}
