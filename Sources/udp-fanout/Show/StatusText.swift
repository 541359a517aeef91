// SPDX-License-Identifier: Apache-2.0

internal import FanoutControl
internal import FanoutCore
internal import LinuxNet

/// A status report as text.
struct StatusText {
    let report: StatusReport
    var paint = Paint(isOn: false)

    init(_ report: StatusReport, paint: Paint = Paint(isOn: false)) {
        self.report = report
        self.paint = paint
    }

    var text: String { lines.joined(separator: "\n") + "\n" }

    var lines: [String] {
        head + report.listeners.flatMap { [""] + lines(of: $0) }
    }

    private var head: [String] {
        var lines = [
            "udp-fanout \(report.version), process \(report.pid), "
                + "up \(Self.span(report.uptimeSeconds))",
            "configuration \(report.config ?? "built in"), active since "
                + report.reload.inForceSince,
        ]
        if !report.reload.lastSuccessful {
            lines.append(paint.bad("the last reload failed; the previous configuration is active"))
        }
        if let health = report.health { lines.append("health checks: \(health)") }
        if !report.drained.isEmpty {
            lines.append(paint.warn("drained: " + report.drained.joined(separator: ", ")))
        }
        for attachment in report.attachments {
            lines.append(
                "hook: \(attachment.mode) at \(attachment.interface) (\(attachment.hook))")
        }
        return lines
    }

    private func lines(of listener: ListenerStatus) -> [String] {
        let furtherPorts = (listener.ports ?? []).dropFirst().map { ",\($0)" }.joined()
        var title = [
            "listener \(paint.strong(listener.name))", listener.bind + furtherPorts, listener.mode,
            listener.balance + (listener.payloadKey.map { " (\($0))" } ?? ""),
        ]
        if let interface = listener.interface { title.append("on \(interface)") }
        if listener.workers > 0 {
            title.append("\(listener.workers) worker\(listener.workers == 1 ? "" : "s")")
        }
        let rates = listener.rates
        let counts = [
            "received \(listener.packetsReceived) (\(rates.packetsReceived.tenths)/s)",
            "forwarded \(listener.packetsForwarded) (\(rates.packetsForwarded.tenths)/s)",
            drops(of: listener),
        ]
        return [title.joined(separator: "  "), "  " + counts.joined(separator: "  ")]
            + receivers(of: listener).map { "  \($0)" }
    }

    private func drops(of listener: ListenerStatus) -> String {
        var text = "dropped \(listener.packetsDropped) (\(listener.rates.packetsDropped.tenths)/s"
        for (reason, count) in listener.drops.sorted(by: { $0.key < $1.key }) {
            text += ", \(reason) \(count)"
        }
        text += ")"
        if listener.kernelDrops > 0 { text += "  kernel drops \(listener.kernelDrops)" }
        if let replies = listener.repliesDropped, replies > 0 {
            text += "  replies dropped \(replies)"
        }
        let isBad = listener.rates.packetsDropped > 0
        return isBad ? paint.bad(text) : text
    }

    private func receivers(of listener: ListenerStatus) -> [String] {
        var table = TextTable([
            "receiver", "address", "state", ">weight", ">forwarded", ">per second", ">dropped",
            ">refused",
        ])
        for receiver in listener.receivers {
            let weight =
                receiver.weight == receiver.weightInForce
                ? "\(receiver.weight)" : "\(receiver.weightInForce) of \(receiver.weight)"
            table.add([
                receiver.name, receiver.address, receiver.word, weight,
                "\(receiver.packetsForwarded)", receiver.rates.packetsForwarded.tenths,
                "\(receiver.packetsDropped)", "\(receiver.refusals)",
            ])
        }
        // Colours are added after the column widths are computed.
        return zip(table.lines, [nil] + listener.receivers).map { line, receiver in
            switch receiver?.state {
            case nil: line
            case .ready: receiver?.rates.refusals == nil ? line : paint.bad(line)
            case .standby: line
            case .drained, .weightZero: paint.warn(line)
            case .unhealthy, .outOfReach: paint.bad(line)
            }
        }
    }

    /// A duration in its two largest units.
    static func span(_ seconds: Double) -> String {
        let whole = Int(max(0, seconds))
        let parts = [
            (whole / 86_400, "d"), (whole / 3600 % 24, "h"), (whole / 60 % 60, "min"),
            (whole % 60, "s"),
        ]
        let first = parts.firstIndex { $0.0 > 0 } ?? 3
        return parts[first...].prefix(2).map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}

/// Colours for a terminal (ECMA-48, SGR), or none.
struct Paint {
    let isOn: Bool

    /// Colours for standard output on a terminal, unless NO_COLOR is set (https://no-color.org) or the terminal is
    /// dumb.
    static var ofOutput: Paint {
        let isUnwanted = Environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        return Paint(
            isOn: StandardStream.output.isTerminal && !isUnwanted && Environment["TERM"] != "dumb")
    }

    func strong(_ text: String) -> String { wrap(text, "1") }
    func warn(_ text: String) -> String { wrap(text, "33") }
    func bad(_ text: String) -> String { wrap(text, "31") }
    func good(_ text: String) -> String { wrap(text, "32") }

    private func wrap(_ text: String, _ code: String) -> String {
        isOn ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}

/// Rows whose columns are as wide as their widest cell.
struct TextTable {
    private let isNumeric: [Bool]
    private var rows: [[String]]

    /// - Parameter heads: the column heads; `>` at the beginning aligns the column right.
    init(_ heads: [String]) {
        isNumeric = heads.map { $0.hasPrefix(">") }
        rows = [heads.map { $0.hasPrefix(">") ? String($0.dropFirst()) : $0 }]
    }

    mutating func add(_ cells: [String]) { rows.append(cells) }

    /// The head and each row, without trailing blanks.
    var lines: [String] {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let cells = row.indices.map { column in
                let blanks = String(repeating: " ", count: widths[column] - row[column].count)
                return isNumeric[column] ? blanks + row[column] : row[column] + blanks
            }
            let line = cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}

extension Double {
    /// With one decimal digit.
    var tenths: String {
        let tenths = Int64((self * 10).rounded())
        return "\(tenths / 10).\(abs(tenths % 10))"
    }
}
