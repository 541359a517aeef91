// SPDX-License-Identifier: Apache-2.0

import YAML

/// Why a text is no value that a schema could judge.
public struct Unreadable: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

extension Value {
    /// Reads one document of YAML 1.2 (or JSON) as editors do.
    ///
    /// - Parameter isStrict: refuses what YAML 1.1, which Kubernetes reads, takes for something else.
    public init(yaml text: String, isStrict: Bool = false) throws {
        guard let node = try Self.tree(text) else { throw Unreadable("an empty document") }
        try self.init(node, isStrict)
    }

    /// All documents of a file.
    public static func documents(yaml text: String, isStrict: Bool = true) throws -> [Value] {
        var result: [Value] = []
        for part in ("\n" + text).split(separator: "\n---", omittingEmptySubsequences: false) {
            if let node = try tree(String(part)) {
                result.append(try Value(node, isStrict))
            }
        }
        return result.filter { $0 != .null }
    }

    private static func tree(_ text: String) throws -> YAMLNode? {
        let document = YAMLDocument(Array(text.utf8), limits: YAMLLimits(depth: 64))
        if let fault = document.faults.first {
            throw Unreadable("line \(fault.line ?? 0): \(fault.what)")
        }
        return document.root
    }

    private init(_ node: YAMLNode, _ isStrict: Bool) throws {
        switch node.content {
        case .scalar(let text, let style):
            self = style == .plain ? try Self.plain(text, isStrict) : .text(text)
        case .sequence(let items): self = .list(try items.map { try Value($0, isStrict) })
        case .mapping(let pairs):
            var members: [String: Value] = [:]
            for (key, value) in pairs {
                guard let name = key.text else { throw Unreadable("a key is no text") }
                guard members.updateValue(try Value(value, isStrict), forKey: name) == nil
                else { throw Unreadable("\(name) stands twice") }
            }
            self = .object(members)
        }
    }

    /// YAML 1.2.2, section 10.3.2 (core schema).
    private static func plain(_ text: String, _ isStrict: Bool) throws -> Value {
        switch text {
        case "", "~", "null", "Null", "NULL": return .null
        case "true", "True", "TRUE": return .boolean(true)
        case "false", "False", "FALSE": return .boolean(false)
        default: break
        }
        if isStrict,
            text.lowercased().wholeMatch(of: /yes|no|on|off|y|n|[0-9]+(:[0-9]+)+|0[0-9]+/) != nil
        {
            throw Unreadable("\(text) means different things to different readers: quote it")
        }
        if text.wholeMatch(of: /[-+]?[0-9]+/) != nil {
            return Int(text.replacing("+", with: "")).map(Value.integer)
                ?? .number(Double(text) ?? 0)
        }
        if text.hasPrefix("0x"), let number = Int(text.dropFirst(2), radix: 16) {
            return .integer(number)
        }
        if text.hasPrefix("0o"), let number = Int(text.dropFirst(2), radix: 8) {
            return .integer(number)
        }
        if text.wholeMatch(of: /[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?/) != nil,
            let number = Double(text)
        {
            return Int(exactly: number).map(Value.integer) ?? .number(number)
        }
        if text.wholeMatch(of: /[-+]?\.(inf|Inf|INF)/) != nil { return .number(.infinity) }
        return .text(text)
    }
}
