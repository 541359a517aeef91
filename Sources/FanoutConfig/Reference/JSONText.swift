// SPDX-License-Identifier: Apache-2.0

/// A JSON text whose members keep their order.
indirect enum JSONText: Sendable {
    case text(String)
    case integer(Int)
    case boolean(Bool)
    case list([JSONText])
    case object([(String, JSONText)])

    /// Indented by two blanks a level, with lists of plain values on one line, for readable diffs.
    var printed: String { printed(at: 0) + "\n" }

    private func printed(at depth: Int) -> String {
        let inside = String(repeating: "  ", count: depth + 1)
        let end = "\n" + String(repeating: "  ", count: depth)
        switch self {
        case .text(let text): return Self.quoted(text)
        case .integer(let number): return "\(number)"
        case .boolean(let value): return value ? "true" : "false"
        case .list(let items):
            if items.allSatisfy(\.isPlain) {
                return "[" + items.map { $0.printed(at: 0) }.joined(separator: ", ") + "]"
            }
            let lines = items.map { inside + $0.printed(at: depth + 1) }
            return "[\n" + lines.joined(separator: ",\n") + end + "]"
        case .object(let members):
            guard !members.isEmpty else { return "{}" }
            let lines = members.map { name, value in
                inside + Self.quoted(name) + ": " + value.printed(at: depth + 1)
            }
            return "{\n" + lines.joined(separator: ",\n") + end + "}"
        }
    }

    private var isPlain: Bool {
        switch self {
        case .text, .integer, .boolean: true
        case .list, .object: false
        }
    }

    /// RFC 8259, section 7. No control character of a schema is beyond U+FFFF.
    private static func quoted(_ text: String) -> String {
        text.inDoubleQuotes { $0.isControl && $0.value <= 0xffff ? "\\u\($0.hex(4))" : nil }
    }
}

extension JSONText: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .text(value) }
    init(integerLiteral value: Int) { self = .integer(value) }
    init(booleanLiteral value: Bool) { self = .boolean(value) }
    init(arrayLiteral elements: JSONText...) { self = .list(elements) }
    init(dictionaryLiteral elements: (String, JSONText)...) { self = .object(elements) }

    /// The members of both objects.
    static func + (left: JSONText, right: JSONText) -> JSONText {
        guard case .object(let first) = left, case .object(let second) = right else { return left }
        return .object(first + second)
    }
}

// Rules of a JSON Schema.
extension JSONText {
    /// The text of a value that YAML would read as a number or a boolean.
    static let scalar: JSONText = ["type": ["string", "number", "boolean"]]

    static func string(matching pattern: String) -> JSONText {
        ["type": "string", "pattern": .text(pattern)]
    }

    static func integers(in range: ClosedRange<Int>) -> JSONText {
        [
            "type": "integer", "minimum": .integer(range.lowerBound),
            "maximum": .integer(range.upperBound),
        ]
    }

    static func words(_ words: [String]) -> JSONText { .list(words.map(JSONText.text)) }
}
