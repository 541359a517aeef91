// SPDX-License-Identifier: Apache-2.0

/// One line of the daemon's log: `time LEVEL message key="value" …`. Parsed by hand: tests read hundreds of lines
/// repeatedly, and regular expressions are too slow for that in a debug build.
struct LogLine: Sendable {
    let level: String
    let message: String
    private let tail: Substring

    private static let levels: Set = ["TRACE", "DEBUG", " INFO", " WARN", "ERROR"]

    /// nil when the line is no log line.
    init?(_ line: String) {
        // 2026-01-31T12:34:56.789Z, a space, five characters for the level, a space.
        let time = line.prefix { $0 != " " }
        let rest = line.dropFirst(time.count + 1)
        let level = String(rest.prefix(5))
        guard time.utf8.count == 24, time.hasSuffix("Z"), Self.levels.contains(level),
            rest.dropFirst(5).first == " "
        else { return nil }
        self.level = level.trimmingPrefix(" ").lowercased()
        let text = rest.dropFirst(6)
        // The fields begin at the space before the first `key="`.
        if let quote = text.firstRange(of: "=\""),
            let space = text[..<quote.lowerBound].lastIndex(of: " ")
        {
            message = String(text[..<space])
            tail = text[space...]
        } else {
            message = String(text)
            tail = ""
        }
    }

    /// The values as in the line, escapes included.
    var fields: [String: String] {
        var result: [String: String] = [:]
        var rest = tail
        while let quote = rest.firstRange(of: "=\"") {
            let key = rest[..<quote.lowerBound].drop { $0 == " " }
            rest = rest[quote.upperBound...]
            var value = ""
            while let character = rest.popFirst(), character != "\"" {
                value.append(character)
                if character == "\\", let escaped = rest.popFirst() { value.append(escaped) }
            }
            result[String(key)] = value
        }
        return result
    }
}
