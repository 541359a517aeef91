// SPDX-License-Identifier: Apache-2.0

/// A JSON Schema of the words that the schemas of this tree use. Any other word is refused, so that none
/// is passed over.
public struct Schema: Sendable {
    let root: Value

    /// Words that say something to people, and where others stand.
    static let silent: Set = [
        "$schema", "$defs", "title", "description", "default", "$comment",
    ]
    static let words: Set = [
        "type", "properties", "additionalProperties", "required", "enum", "const", "minimum",
        "maximum",
        "minLength", "maxLength", "pattern", "items", "minItems", "anyOf", "oneOf", "allOf", "not",
        "if",
        "then", "else", "$ref",
    ]

    /// - Throws: `Unreadable` when it holds a word that is not known here, or a reference to nothing.
    public init(_ root: Value) throws {
        self.root = root
        try check(root)
    }

    /// The schema `name` below `$defs`, with the references that it makes.
    public func definition(_ name: String) throws -> Schema {
        guard var definition = root["$defs"]?[name]?.object else {
            throw Unreadable("no definition \(name)")
        }
        definition["$defs"] = root["$defs"]
        return try Schema(.object(definition))
    }

    private func check(_ schema: Value) throws {
        guard let members = schema.object else {
            guard case .boolean = schema else { throw Unreadable("a schema is no object") }
            return
        }
        for (word, value) in members {
            guard Self.words.union(Self.silent).contains(word) else {
                throw Unreadable("the word \(word) is not known here")
            }
            switch word {
            case "properties", "$defs": for part in (value.object ?? [:]).values { try check(part) }
            case "items", "not", "if", "then", "else", "additionalProperties": try check(value)
            case "anyOf", "oneOf", "allOf": for part in value.list ?? [] { try check(part) }
            case "$ref": _ = try target(of: value)
            case "pattern": _ = try Regex(value.text ?? "(")
            default: break
            }
        }
    }

    func target(of reference: Value) throws -> Value {
        guard let text = reference.text, text.hasPrefix("#/$defs/"),
            let target = root["$defs"]?[String(text.dropFirst("#/$defs/".count))]
        else { throw Unreadable("a reference to nothing: \(reference)") }
        return target
    }

    /// What is wrong with a value: nothing when it is valid.
    public func problems(of value: Value) -> [String] {
        var judge = Judge(schema: self)
        judge.judge(value, by: root, at: "")
        return judge.problems
    }

    public func accepts(_ value: Value) -> Bool { problems(of: value).isEmpty }
}
