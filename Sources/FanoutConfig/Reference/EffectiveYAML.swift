// SPDX-License-Identifier: Apache-2.0

extension Configuration {
    /// The configuration as YAML: every key that has a value, set or by default.
    ///
    /// It loads back to an equal configuration. With some thousand listeners it exceeds `SourceLimits`, since each
    /// listener shows all of its settings; it is then only for reading.
    public var effectiveYAML: String {
        var writer = YAMLWriter()
        Self.section.write(self, to: &writer)
        return writer.output
    }
}

/// Lines of YAML, indented by section depth.
struct YAMLWriter {
    private(set) var output = ""
    private var depth = 0
    /// Whether the next line begins a list item.
    private var atItem = false

    mutating func section(_ name: String, _ body: (inout YAMLWriter) -> Void) {
        line("\(name):")
        depth += 1
        body(&self)
        depth -= 1
    }

    mutating func item(_ body: (inout YAMLWriter) -> Void) {
        atItem = true
        depth += 1
        body(&self)
        depth -= 1
    }

    mutating func line(_ text: String) {
        output += String(repeating: "  ", count: atItem ? depth - 1 : depth)
        output += (atItem ? "- " : "") + text + "\n"
        atItem = false
    }

    /// A double-quoted text, which is never read as a number or a boolean; escapes unprintable characters.
    static func quote(_ text: String) -> String {
        text.inDoubleQuotes { $0.isControl || $0.isUnassigned ? "\\U\($0.hex(8))" : nil }
    }
}
