// SPDX-License-Identifier: Apache-2.0

/// A section of the configuration file, for documentation and hints.
public struct ConfigSection: Sendable {
    /// The name in the schema.
    public let name: String
    /// The paths of the section, with `[]` for list items; the usual path first.
    public let paths: [String]
    /// In documentation order.
    public let keys: [ConfigKey]
    private let indices: [String: Int]

    init(name: String, paths: [String], keys: [ConfigKey]) {
        self.name = name
        self.paths = paths
        self.keys = keys.map { key in
            var key = key
            key.paths = paths.map { $0.isEmpty ? key.name : "\($0).\(key.name)" }
            return key
        }
        indices = Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($1.name, $0) })
    }

    public subscript(name: String) -> ConfigKey? { index(of: name).map { keys[$0] } }

    func index(of name: String) -> Int? { indices[name] }

    var isRoot: Bool { paths == [""] }
}

/// A key of the configuration file, for documentation and hints.
public struct ConfigKey: Sendable {
    /// The key as it is written.
    public let name: String
    let rule: ValueRule
    public let defaultValue: KeyDefault
    /// The purpose of the key, in one line.
    public let meaning: String
    /// Every path of the key, such as `listeners[].bind`; the usual path first.
    public internal(set) var paths: [String] = []
}

extension ConfigKey: CustomStringConvertible {
    public var description: String { paths[0] }

    /// Every key of the file.
    public static let all = ConfigSection.all.flatMap(\.keys)
}

/// The default of a key.
public enum KeyDefault: Equatable, Sendable, ExpressibleByStringLiteral {
    /// The key is required.
    case required
    /// This value, as in YAML.
    case value(String)
    /// No value; the text describes the effect.
    case absent(String)

    public init(stringLiteral words: String) { self = .absent(words) }

    /// The value without its quotes.
    static func value(yaml: String) -> KeyDefault {
        .value(yaml.hasPrefix("\"") ? String(yaml.dropFirst().dropLast()) : yaml)
    }
}

/// The description of a key's value for problems, the reference and the schema.
struct ValueRule: Sendable {
    /// What to write, as the last part of a problem.
    let remedy: String
    /// The text of the reference; by default the remedy.
    let cell: String
    /// The rule as a JSON Schema.
    let schema: JSONText

    init(_ remedy: String, cell: String? = nil, _ schema: JSONText) {
        self.remedy = remedy
        self.cell = cell ?? String(remedy.dropFirst("write ".count))
        self.schema = schema
    }

    static func section(_ section: ConfigSection) -> ValueRule {
        ValueRule(
            "write its keys below it, indented", cell: "the keys of `\(section.paths[0])`",
            ["$ref": "#/$defs/\(section.name)"])
    }

    static func list(of section: ConfigSection) -> ValueRule {
        ValueRule(
            "write a list, each item beginning with '- '", cell: "a list of `\(section.paths[0])`",
            ["type": "array", "items": ["$ref": "#/$defs/\(section.name)"], "minItems": 1])
    }
}
