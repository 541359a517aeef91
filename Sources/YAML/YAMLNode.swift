// SPDX-License-Identifier: Apache-2.0

/// A value of a YAML document, with its position.
public struct YAMLNode: Sendable {
    /// How a scalar is written.
    public enum Style: Sendable {
        /// Without quotes. YAML readers see numbers and booleans in such text; this one keeps it as text.
        case plain
        case singleQuoted, doubleQuoted
        /// A block scalar: `|` or `>`.
        case block
    }

    public enum Content: Sendable {
        case scalar(String, Style)
        case sequence([YAMLNode])
        /// In the order of the text; a key may appear more than once.
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    public let content: Content
    /// Counted from 1.
    public let line: Int
    /// Counted from 1, in Unicode scalars.
    public let column: Int
}

extension YAMLNode {
    /// The text of a scalar; nil for a sequence or a mapping.
    public var text: String? { if case .scalar(let text, _) = content { text } else { nil } }

    public var items: [YAMLNode]? {
        if case .sequence(let items) = content { items } else { nil }
    }

    public var members: [(key: YAMLNode, value: YAMLNode)]? {
        if case .mapping(let members) = content { members } else { nil }
    }

    /// Whether it is YAML's null: nothing at all, `~` or `null`, without quotes.
    public var isNull: Bool {
        guard case .scalar(let text, .plain) = content else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(text)
    }

    /// The first value with this key in a mapping; nil if there is none.
    public subscript(_ key: String) -> YAMLNode? {
        members?.first { $0.key.text == key }?.value
    }
}

/// A construct that is refused, or a syntax error.
public struct YAMLFault: Error, Equatable, Sendable {
    /// Counted from 1; nil if it concerns the whole document.
    public let line: Int?
    /// Counted from 1, in Unicode scalars.
    public let column: Int?
    public let what: String
    /// What to write instead.
    public let remedy: String
}

/// Limits for one document.
public struct YAMLLimits: Sendable {
    /// Maximum number of scalars, sequences and mappings.
    public var nodes: Int
    /// Maximum nesting depth.
    public var depth: Int
    /// Maximum number of reported faults.
    public var faults: Int

    public init(nodes: Int = 1_000_000, depth: Int = 16, faults: Int = 1_000) {
        self.nodes = nodes
        self.depth = depth
        self.faults = faults
    }
}
