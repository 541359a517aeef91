// SPDX-License-Identifier: Apache-2.0

import Foundation
import SchemaCheck

/// A pipeline of a template: paths, texts, parentheses and the functions that this tree's chart calls. Any other
/// is refused.
struct ChartExpression {
    private let tokens: [String]

    init(_ text: String) {
        var tokens: [String] = []
        var rest = text[...]
        while let first = rest.first {
            if first == "\"" {
                let end = rest.dropFirst().firstIndex(of: "\"") ?? rest.endIndex
                tokens.append(String(rest[..<end]))
                rest = end == rest.endIndex ? "" : rest[rest.index(after: end)...]
            } else if "()|".contains(first) {
                tokens.append(String(first))
                rest = rest.dropFirst()
            } else if first == " " {
                rest = rest.dropFirst()
            } else {
                let word = rest.prefix { !"()| \"".contains($0) }
                tokens.append(String(word))
                rest = rest[word.endIndex...]
            }
        }
        self.tokens = tokens
    }

    func value(in scope: ChartScope) throws -> Value {
        var rest = tokens[...]
        let value = try Self.pipeline(&rest, scope)
        guard rest.isEmpty else { throw Unreadable("too much: \(rest.joined(separator: " "))") }
        return value
    }

    private static func pipeline(
        _ rest: inout ArraySlice<String>, _ scope: ChartScope
    ) throws -> Value {
        var value = try command(&rest, scope, piped: nil)
        while rest.first == "|" {
            rest = rest.dropFirst()
            value = try command(&rest, scope, piped: value)
        }
        return value
    }

    private static func command(
        _ rest: inout ArraySlice<String>, _ scope: ChartScope, piped: Value?
    ) throws -> Value {
        guard let head = rest.first else { throw Unreadable("an empty command") }
        let isCall = head.first?.isLetter == true
        if isCall { rest = rest.dropFirst() }
        var arguments: [Value] = []
        while let next = rest.first, next != "|", next != ")" {
            arguments.append(try operand(&rest, scope))
        }
        if let piped { arguments.append(piped) }
        if isCall { return try call(head, arguments) }
        guard arguments.count == 1 else { throw Unreadable("\(head) is no function") }
        return arguments[0]
    }

    private static func operand(
        _ rest: inout ArraySlice<String>, _ scope: ChartScope
    ) throws -> Value {
        let token = rest.removeFirst()
        if token == "(" {
            let value = try pipeline(&rest, scope)
            guard rest.first == ")" else { throw Unreadable("an open parenthesis") }
            rest = rest.dropFirst()
            return value
        }
        if token.first == "\"" { return .text(String(token.dropFirst())) }
        if let number = Int(token) { return .integer(number) }
        return try scope.value(at: token)
    }

    private static func call(_ name: String, _ arguments: [Value]) throws -> Value {
        switch (name, arguments.count) {
        case ("eq", 2): return .boolean(arguments[0] == arguments[1])
        case ("ne", 2): return .boolean(arguments[0] != arguments[1])
        case ("not", 1): return .boolean(ChartScope.isEmpty(arguments[0]))
        case ("default", 2): return ChartScope.isEmpty(arguments[1]) ? arguments[0] : arguments[1]
        case ("quote", 1): return .text(Value.quoted(ChartScope.plain(arguments[0])))
        case ("has", 2): return .boolean(arguments[1].list?.contains(arguments[0]) == true)
        case ("regexFind", 2):
            let regex = try Regex(arguments[0].text ?? "(")
            let text = ChartScope.plain(arguments[1])
            return .text(text.firstMatch(of: regex).map { String(text[$0.range]) } ?? "")
        case ("printf", 1...):
            let parts = (arguments[0].text ?? "").components(separatedBy: "%v")
            guard parts.count == arguments.count else { throw Unreadable("printf's arguments") }
            let values = arguments.dropFirst().map(ChartScope.plain) + [""]
            return .text(zip(parts, values).map { $0 + $1 }.joined())
        case ("fail", 1): throw ChartScope.Refusal(reason: ChartScope.plain(arguments[0]))
        default: throw Unreadable("the function \(name) is not known here")
        }
    }
}
