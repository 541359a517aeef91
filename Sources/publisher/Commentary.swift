// SPDX-License-Identifier: Apache-2.0

internal import FanoutCore
internal import LinuxNet

/// What a run says while it goes on: each message if it is slow, else a line a second.
struct Commentary: Sendable {
    let destination: Endpoint
    /// The address that datagrams leave from when none is asked for.
    let chosenSource: IPAddress
    /// Standard error when standard output is for the report alone.
    let stream: StandardStream

    /// Says what became of message `number`.
    ///
    /// - Parameters:
    ///   - source: nil = the one that the kernel chose.
    ///   - error: the errno, or 0.
    /// - Returns: whether somebody still reads it.
    func attempted(_ number: UInt64, from source: IPAddress?, error: Int32) -> Bool {
        let what = "\(Message.text(number)) to \(destination) from \(source ?? chosenSource)"
        guard error != 0 else { return say("sent \(what)") }
        return say("failed \(what): \(SystemError("send", code: error).reason)")
    }

    /// A line a second: on a terminal over the one before, in a pipe below it.
    ///
    /// - Parameter recent: datagrams sent since the last time, a second.
    /// - Returns: whether somebody still reads it.
    func progress(_ totals: Totals, seconds: Int, recent: Double) -> Bool {
        var line = "\(seconds) s: sent \(totals.sent), \(Int(recent.rounded())) a second"
        if totals.failed > 0 { line += ", failed \(totals.failed)" }
        // To the beginning of the line, and the rest of it erased (ECMA-48: CR, EL).
        return stream.isTerminal ? stream.write("\r\(line)\u{1b}[K") : say(line)
    }

    /// Takes the line of progress off a terminal.
    func clear() {
        if stream.isTerminal { stream.write("\r\u{1b}[K") }
    }

    private func say(_ line: String) -> Bool {
        // A log that nobody reads holds nobody up; output that nobody reads ends the run.
        stream.write(line + "\n") || stream == .error
    }
}
