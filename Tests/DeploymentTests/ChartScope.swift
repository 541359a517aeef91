// SPDX-License-Identifier: Apache-2.0

import SchemaCheck

/// What the actions of a template see.
struct ChartScope {
    /// `$`, which is `.` outside of loops.
    let root: Value
    /// `.`
    let dot: Value

    /// A template refuses its values (`fail`).
    struct Refusal: Error {
        let reason: String
    }

    /// The value at a path such as `.Values.mode` or `$.Release.Name`; `.null` when the last part is missing.
    func value(at path: String) throws -> Value {
        var rest = path[...]
        var value = dot
        if rest.first == "$" {
            value = root
            rest = rest.dropFirst()
        }
        guard rest.first == ".", !rest.contains(" ") else { throw Unreadable("no path: \(path)") }
        let names = rest.split(separator: ".").map(String.init)
        for (index, name) in names.enumerated() {
            guard let member = value[name] else {
                // Helm ends with an error too, where it is not the last.
                guard index == names.count - 1 else { throw Unreadable("nothing at \(path)") }
                return .null
            }
            value = member
        }
        return value
    }

    func text(of pipeline: String) throws -> String {
        let steps = pipeline.split(separator: "|").map { $0.trimming() }
        if steps.count == 2, steps[0].hasPrefix("toYaml "), steps[1].hasPrefix("nindent "),
            let depth = Int(steps[1].dropFirst("nindent ".count))
        {
            let value = try value(at: String(steps[0].dropFirst("toYaml ".count)))
            guard value != .null else { throw Unreadable("nothing for \(pipeline)") }
            let indent = "\n" + String(repeating: " ", count: depth)
            return Self.lines(of: value).map { indent + $0 }.joined()
        }
        let value = try ChartExpression(pipeline).value(in: self)
        switch value {
        case .text, .integer, .boolean: return Self.plain(value)
        default: throw Unreadable("\(pipeline) is no single value")
        }
    }

    func holds(_ test: String) throws -> Bool {
        try !Self.isEmpty(ChartExpression(test).value(in: self))
    }

    /// JSON is YAML, and how it is laid out means nothing to a reader; but members may join those of a mapping.
    private static func lines(of value: Value) -> [String] {
        guard case .object(let members) = value, !members.isEmpty else { return [value.json] }
        return members.sorted { $0.key < $1.key }
            .map { "\(Value.quoted($0.key)): \($0.value.json)" }
    }

    static func plain(_ value: Value) -> String { value.text ?? value.json }

    /// As text/template has it.
    static func isEmpty(_ value: Value) -> Bool {
        switch value {
        case .null, .boolean(false), .integer(0): true
        case .text(let text): text.isEmpty
        case .list(let items): items.isEmpty
        case .object(let members): members.isEmpty
        case .boolean, .integer, .number: false
        }
    }
}
