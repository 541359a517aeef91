// SPDX-License-Identifier: Apache-2.0

import SchemaCheck

/// The names in a query of PromQL: what it asks for, whatever it makes of it.
struct PromQuery {
    private(set) var metrics: Set<String> = []
    private(set) var labels: Set<String> = []
    /// What matchers compare with, alternatives apart.
    private(set) var values: [String: Set<String>] = [:]

    private static let groupings: Set = [
        "by", "without", "on", "ignoring", "group_left", "group_right",
    ]
    /// Words that need no parenthesis behind them.
    private static let others: Set = [
        "or", "and", "unless", "bool", "offset", "sum", "min", "max", "avg", "count",
    ]

    init(_ text: String) throws {
        var rest = text[...]
        var grouping = false
        var braces = false
        var label = ""
        while let character = rest.first {
            if character == "\"" {
                let end = rest.dropFirst().firstIndex(of: "\"") ?? rest.endIndex
                values[label, default: []].formUnion(
                    rest[..<end].dropFirst().split(separator: "|").map(String.init))
                rest = rest[end...].dropFirst()
                continue
            }
            if character.isNumber {
                // A number, or a duration.
                rest = rest.drop { $0.isNumber || $0.isLetter || $0 == "." }
                continue
            }
            guard character.isLetter || character == "_" else {
                if character == "{" { braces = true }
                if character == "}" { braces = false }
                if character == ")" { grouping = false }
                rest = rest.dropFirst()
                continue
            }
            let word = String(rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == ":" })
            rest = rest.dropFirst(word.count)
            let next = rest.first { !$0.isWhitespace }
            if braces || grouping {
                labels.insert(word)
                label = word
            } else if Self.groupings.contains(word) {
                grouping = next == "("
            } else if next != "(", !Self.others.contains(word) {
                metrics.insert(word)
            }
        }
        if metrics.isEmpty { throw Unreadable("no metric in \(text)") }
    }
}
