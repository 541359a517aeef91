// SPDX-License-Identifier: Apache-2.0

internal import YAML

/// A value in the file, with the context for its problems.
struct Field {
    let node: YAMLNode
    /// The place of the value.
    let origin: Origin
    /// The place of its key, or of the item in a list.
    let key: Origin
    /// The name of the key.
    let name: String
    /// What to write instead, unless a problem has a better remedy.
    let remedy: String
    let findings: Findings

    /// Empty for a list or a mapping.
    var text: String { node.text ?? "" }

    var isQuoted: Bool {
        if case .scalar(_, .plain) = node.content { false } else { true }
    }

    /// Reports why the value is invalid.
    ///
    /// - Returns: nil.
    func refuse<Value>(
        _ what: @autoclosure () -> String, _ remedy: @autoclosure () -> String? = nil
    ) -> Value? {
        findings.error(at: origin, what(), remedy() ?? self.remedy)
        return nil
    }

    /// Whether it is a single value and not empty; otherwise reports that.
    var isSingle: Bool {
        guard case .scalar(let text, _) = node.content else {
            findings.error(at: origin, "is not a single value", remedy)
            return false
        }
        guard !node.isNull, !text.isEmpty else {
            findings.error(at: origin, "is empty", remedy)
            return false
        }
        return true
    }

    /// The items of a list; nil after reporting that it is none.
    var items: [Field]? {
        guard let items = node.items else {
            findings.error(at: key, node.isNull ? "is empty" : "is not a list", remedy)
            return nil
        }
        return items.enumerated().map { index, node in
            let origin = Origin(
                file: key.file, line: node.line, column: node.column, key: "\(key.key)[\(index)]")
            return Field(
                node: node, origin: origin, key: origin, name: name, remedy: remedy,
                findings: findings)
        }
    }
}

extension ConfigSection {
    /// The values of a mapping, by the index of the key. Reports each key that is unknown, repeated or missing.
    ///
    /// - Returns: nil after reporting that `field` is not a mapping.
    func fields(of field: Field) -> [Field?]? {
        guard let members = field.node.members else {
            let what = field.node.isNull ? "is empty" : "is not a mapping"
            field.findings.error(at: field.key, what, ValueRule.section(self).remedy)
            return nil
        }
        var fields = [Field?](repeating: nil, count: keys.count)
        var firstLines: [String: Int] = [:]
        for (key, value) in members { take(key, value, of: field, &fields, &firstLines) }
        for (key, value) in zip(keys, fields) where value == nil && key.defaultValue == .required {
            field.findings.error(at: field.key.appending(key.name), "is missing", key.rule.remedy)
        }
        return fields
    }

    private func take(
        _ key: YAMLNode, _ value: YAMLNode, of field: Field, _ fields: inout [Field?],
        _ firstLines: inout [String: Int]
    ) {
        func place(_ node: YAMLNode, _ path: String) -> Origin {
            Origin(file: field.key.file, line: node.line, column: node.column, key: path)
        }
        let findings = field.findings
        guard let name = key.text else {
            findings.error(
                at: place(key, field.key.key), "a key is not a text",
                remedy(forUnknown: "", at: field.key.key))
            return
        }
        let path = field.key.appending(name.printable()).key
        defer { firstLines[name] = firstLines[name] ?? key.line }
        if let line = firstLines[name] {
            findings.error(
                at: place(key, path), "the key stands twice, first on line \(line)",
                "remove one of the two")
        } else if let index = index(of: name) {
            fields[index] = Field(
                node: value, origin: place(value, path), key: place(key, path), name: name,
                remedy: keys[index].rule.remedy, findings: findings)
        } else if name == "<<" {
            findings.error(
                at: place(key, path), "merge keys are refused", "write the keys out")
        } else {
            findings.error(
                at: place(key, path), "unknown key", remedy(forUnknown: name, at: field.key.key))
        }
    }
}

extension ConfigSection {
    /// The remedy for an unknown key: the name here for a name of another program, the same key in its own section,
    /// the nearest key of this section, the nearest of any other, or the keys of this section.
    private func remedy(forUnknown name: String, at path: String) -> String {
        if let replacement = replacement(for: name) { return replacement }
        let homes = homes(of: name)
        if let home = homes.first {
            return "it belongs under \(homes.map(Self.title).alternatives)"
                + (homes.count == 1 ? "; write \(home.isEmpty ? name : "\(home).\(name)")" : "")
        }
        let here = keys.map(\.name)
        if let near = Spelling.nearest(to: name, among: here) { return "write \(near)" }
        if let near = Spelling.nearest(to: name, among: ConfigKey.all.map(\.name)) {
            let homes = self.homes(of: near).map(Self.title).alternatives
            return "write \(near) under \(homes), or remove it"
        }
        return "remove it; \(path.isEmpty ? "the file" : path) takes \(here.alternatives)"
    }

    /// Address and port are one value here, and two keys in other programs.
    private func replacement(for name: String) -> String? {
        switch (self.name, name) {
        case ("listener", "port"), ("listener", "address"), ("listener", "listen"),
            ("metrics", "port"), ("metrics", "address"), ("metrics", "listen"):
            "write bind: ip:port"
        case ("downstream", "port"), ("downstream", "ip"), ("downstream", "host"):
            "write address: ip:port"
        default: nil
        }
    }

    /// The sections with a key of this name: those inside this one if there are any, otherwise all.
    private func homes(of name: String) -> [String] {
        let sections = Self.all.filter { $0.index(of: name) != nil }
        let inside = sections.compactMap { section in
            section.paths.first { !isRoot && $0.hasPrefix("\(paths[0]).") }
        }
        return inside.isEmpty ? sections.map { $0.paths[0] } : inside
    }

    private static func title(_ path: String) -> String {
        path.isEmpty ? "the top level" : path
    }
}
