// SPDX-License-Identifier: Apache-2.0

/// A value as JSON knows it.
public indirect enum Value: Equatable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int)
    case number(Double)
    case text(String)
    case list([Value])
    case object([String: Value])

    /// The member of an object; nil when there is none, or this is no object.
    public subscript(_ name: String) -> Value? { object?[name] }

    /// The item of a list; nil when there is none, or this is no list.
    public subscript(_ index: Int) -> Value? {
        guard let list, list.indices.contains(index) else { return nil }
        return list[index]
    }

    public var object: [String: Value]? {
        if case .object(let members) = self { members } else { nil }
    }
    public var list: [Value]? { if case .list(let items) = self { items } else { nil } }
    public var text: String? { if case .text(let text) = self { text } else { nil } }
    public var integer: Int? { if case .integer(let number) = self { number } else { nil } }

    /// Every text in it, those of members of objects included.
    public var texts: [String] {
        switch self {
        case .text(let text): [text]
        case .list(let items): items.flatMap(\.texts)
        case .object(let members): members.values.flatMap(\.texts)
        case .null, .boolean, .integer, .number: []
        }
    }

    /// What JSON Schema calls its type.
    var type: String {
        switch self {
        case .null: "null"
        case .boolean: "boolean"
        case .integer: "integer"
        case .number: "number"
        case .text: "string"
        case .list: "array"
        case .object: "object"
        }
    }

    /// As one line of JSON, which YAML reads too.
    public var json: String {
        switch self {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .integer(let number): "\(number)"
        case .number(let number): "\(number)"
        case .text(let text): Self.quoted(text)
        case .list(let items): "[" + items.map(\.json).joined(separator: ", ") + "]"
        case .object(let members):
            "{"
                + members.sorted { $0.key < $1.key }
                .map { "\(Self.quoted($0.key)): \($0.value.json)" }.joined(separator: ", ") + "}"
        }
    }

    public static func quoted(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n").replacing("\t", with: "\\t")
        return "\"\(escaped)\""
    }
}
