// SPDX-License-Identifier: Apache-2.0

import SchemaCheck

/// A template of the Helm chart, of the constructs that this tree uses: the expressions of `ChartExpression`,
/// `toYaml … | nindent`, `if`, `else`, `range`. Any other is refused, so that none is rendered otherwise than Helm
/// would.
struct ChartTemplate {
    indirect enum Part {
        case text(String)
        case value(String)
        case condition(String, [Part])
        case otherwise(String, [Part], [Part])
        case loop(String, [Part])
    }

    private let parts: [Part]

    init(_ text: String) throws {
        var tokens = try Self.tokens(of: text)[...]
        parts = try Self.parts(&tokens, inside: nil)
    }

    /// - Parameter root: `.Values`, `.Release` and `.Chart`.
    func rendered(_ root: Value) throws -> String {
        try Self.render(parts, ChartScope(root: root, dot: root))
    }

    // MARK: Reading

    private enum Token { case text(String), action(String) }

    private static func tokens(of text: String) throws -> [Token] {
        var result: [Token] = []
        var rest = text[...]
        while let begin = rest.firstRange(of: "{{") {
            var before = String(rest[..<begin.lowerBound])
            rest = rest[begin.upperBound...]
            guard let end = rest.firstRange(of: "}}") else { throw Unreadable("an open action") }
            var action = rest[..<end.lowerBound]
            rest = rest[end.upperBound...]
            if action.hasPrefix("- ") {
                action = action.dropFirst()
                while before.last?.isWhitespace == true { before.removeLast() }
            }
            if action.hasSuffix("-") { throw Unreadable("a trim to the right") }
            result += [.text(before), .action(action.trimming())]
        }
        return result + [.text(String(rest))]
    }

    /// Up to `end` (and, of a condition, `else`) when this is inside something.
    private static func parts(_ tokens: inout ArraySlice<Token>, inside: String?) throws -> [Part] {
        var result: [Part] = []
        while let token = tokens.first {
            guard case .action(let action) = token else {
                if case .text(let text) = token { result.append(.text(text)) }
                tokens = tokens.dropFirst()
                continue
            }
            if action == "end" || action == "else" {
                guard inside != nil else { throw Unreadable("\(action) of nothing") }
                return result
            }
            tokens = tokens.dropFirst()
            if action.hasPrefix("if ") {
                result.append(try condition(String(action.dropFirst(3)), &tokens))
            } else if action.hasPrefix("range ") {
                let body = try parts(&tokens, inside: action)
                try finish(&tokens, action)
                result.append(.loop(String(action.dropFirst(6)), body))
            } else {
                result.append(.value(action))
            }
        }
        if let inside { throw Unreadable("no end of \(inside)") }
        return result
    }

    private static func condition(_ test: String, _ tokens: inout ArraySlice<Token>) throws -> Part
    {
        let body = try parts(&tokens, inside: test)
        guard case .action("else")? = tokens.first else {
            try finish(&tokens, test)
            return .condition(test, body)
        }
        tokens = tokens.dropFirst()
        let other = try parts(&tokens, inside: test)
        try finish(&tokens, test)
        return .otherwise(test, body, other)
    }

    private static func finish(_ tokens: inout ArraySlice<Token>, _ what: String) throws {
        guard case .action("end")? = tokens.first else { throw Unreadable("no end of \(what)") }
        tokens = tokens.dropFirst()
    }

    // MARK: Rendering

    private static func render(_ parts: [Part], _ scope: ChartScope) throws -> String {
        try parts.map { part in
            switch part {
            case .text(let text): text
            case .value(let pipeline): try scope.text(of: pipeline)
            case .condition(let test, let body): try scope.holds(test) ? render(body, scope) : ""
            case .otherwise(let test, let body, let other):
                try render(scope.holds(test) ? body : other, scope)
            case .loop(let path, let body):
                try (scope.value(at: path).list ?? []).map {
                    try render(body, ChartScope(root: scope.root, dot: $0))
                }.joined()
            }
        }.joined()
    }
}

extension Substring {
    func trimming() -> String {
        var rest = self
        while rest.first?.isWhitespace == true { rest = rest.dropFirst() }
        while rest.last?.isWhitespace == true { rest = rest.dropLast() }
        return String(rest)
    }
}
