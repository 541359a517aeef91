// SPDX-License-Identifier: Apache-2.0

internal import LinuxNet

/// Shows the demo's table: drawn over itself on a terminal, a line a second in a pipe.
struct DemoDisplay: Sendable {
    let demo: Demo
    let daemon: Daemon
    /// When to end by itself; zero = never.
    let duration: Duration

    /// Draws until the task is cancelled, the duration is over or nobody reads it any more.
    func run() async {
        let isTerminal = StandardStream.output.isTerminal
        let interval = Duration.milliseconds(isTerminal ? 500 : 1000)
        let clock = ContinuousClock()
        let begin = clock.now
        var last = begin
        var before = await demo.received
        var isFirst = true
        while !Task.isCancelled {
            try? await Task.sleep(for: interval)
            let now = clock.now
            guard let counters = await daemon.counters().first else { return }
            let table = await demo.table(counters, since: before, now - last)
            (before, last) = (table.rows.map(\.datagrams), now)
            let isRead: Bool
            if isTerminal {
                // Back to the table's first line, and over it (ECMA-48: CPL, EL).
                let up = isFirst ? "" : "\u{1b}[\(table.lines.count)F"
                isRead = StandardStream.output.write(
                    up + table.lines.map { $0 + "\u{1b}[K\n" }.joined())
            } else {
                isRead = StandardStream.output.write(table.plain + "\n")
            }
            guard isRead else { return }
            isFirst = false
            if duration > .zero, now - begin >= duration { return }
        }
    }
}
