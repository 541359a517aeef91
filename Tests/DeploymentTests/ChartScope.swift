// SPDX-License-Identifier: Apache-2.0

import SchemaCheck

/// What the actions of a template see.
struct ChartScope {
    /// `$`, which is `.` outside of loops.
    let root: Value
    /// `.`
    let dot: Value

    /// The value at a path such as `.Values.mode` or `$.Release.Name`.
    func value(at path: String) throws -> Value {
        var rest = path[...]
        var value = dot
        if rest.first == "$" {
            value = root
            rest = rest.dropFirst()
        }
        guard rest.first == ".", !rest.contains(" ") else { throw Unreadable("no path: \(path)") }
        for name in rest.split(separator: ".") {
            // Helm renders what is not there as nothing; here that would be a slip.
            guard let member = value[String(name)] else { throw Unreadable("nothing at \(path)") }
            value = member
        }
        return value
    }

    func text(of pipeline: String) throws -> String {
        let steps = pipeline.split(separator: "|").map { $0.trimming() }
        if steps.count == 2, steps[0].hasPrefix("toYaml "), steps[1].hasPrefix("nindent "),
            let depth = Int(steps[1].dropFirst("nindent ".count))
        {
            // JSON is YAML; how it is laid out means nothing to who reads it.
            let value = try value(at: String(steps[0].dropFirst("toYaml ".count)))
            return "\n" + String(repeating: " ", count: depth) + value.json
        }
        var value = try value(at: steps[0])
        for step in steps.dropFirst() {
            if step == "quote" {
                value = .text(Value.quoted(Self.plain(value)))
            } else if step.hasPrefix("default ") {
                if Self.isEmpty(value) { value = try self.value(at: String(step.dropFirst(8))) }
            } else {
                throw Unreadable("the function \(step) is not known here")
            }
        }
        switch value {
        case .text, .integer, .boolean: return Self.plain(value)
        default: throw Unreadable("\(pipeline) is no single value")
        }
    }

    func holds(_ test: String) throws -> Bool {
        let words = test.split(separator: " ").map(String.init)
        if words.count == 1 { return try !Self.isEmpty(value(at: words[0])) }
        guard words.count == 3, words[0] == "eq" || words[0] == "ne", words[2].hasPrefix("\"")
        else {
            throw Unreadable("the test \(test) is not known here")
        }
        let isEqual = try value(at: words[1]).text == words[2].trimmingQuotes()
        return isEqual == (words[0] == "eq")
    }

    private static func plain(_ value: Value) -> String { value.text ?? value.json }

    /// As text/template has it.
    private static func isEmpty(_ value: Value) -> Bool {
        switch value {
        case .null, .boolean(false), .integer(0): true
        case .text(let text): text.isEmpty
        case .list(let items): items.isEmpty
        case .object(let members): members.isEmpty
        case .boolean, .integer, .number: false
        }
    }
}

extension String {
    fileprivate func trimmingQuotes() -> String {
        String(drop { $0 == "\"" }.reversed().drop { $0 == "\"" }.reversed())
    }
}
