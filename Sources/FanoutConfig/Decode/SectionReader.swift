// SPDX-License-Identifier: Apache-2.0

internal import YAML

/// One mapping of the file, read as a section of the catalog: unknown, repeated and missing keys
/// are reported as it is opened.
struct SectionReader {
    let section: ConfigSection
    /// Of the mapping; its key is the section's path.
    let origin: Origin
    let findings: Findings
    private var fields: [ConfigKey: (key: Origin, value: YAMLNode)] = [:]

    /// - Returns: nil, having said why, when `node` is not a mapping.
    init?(
        _ node: YAMLNode, as section: ConfigSection, at origin: Origin, findings: Findings
    ) {
        guard let members = node.members else {
            let what = node.isNull ? "is empty" : "is not a mapping"
            findings.error(at: origin, what, ValueType.section(section).remedy)
            return nil
        }
        self.section = section
        self.origin = origin
        self.findings = findings
        var firstLines: [String: Int] = [:]
        for (key, value) in members {
            take(key, value, &firstLines)
        }
        for key in section.requiredKeys where fields[key] == nil {
            let place = origin.under(path(of: key.name))
            findings.error(at: place, "is missing", key.type.remedy)
        }
    }

    private mutating func take(
        _ key: YAMLNode, _ value: YAMLNode, _ firstLines: inout [String: Int]
    ) {
        guard let name = key.text else {
            findings.error(
                at: place(of: key, under: origin.key), "a key is not a text",
                unknownKeyRemedy(for: ""))
            return
        }
        let place = place(of: key, under: path(of: name.printable()))
        defer { firstLines[name] = firstLines[name] ?? key.line }
        if let line = firstLines[name] {
            findings.error(
                at: place, "the key stands twice, first on line \(line)", "remove one of the two")
        } else if let known = section.key(named: name) {
            fields[known] = (place, value)
        } else if name == "<<" {
            findings.error(at: place, "merge keys are refused", "write the keys out")
        } else {
            findings.error(at: place, "unknown key", unknownKeyRemedy(for: name))
        }
    }

    func path(of name: String) -> String { origin.key.isEmpty ? name : "\(origin.key).\(name)" }

    func place(of node: YAMLNode, under key: String) -> Origin {
        Origin(file: origin.file, line: node.line, column: node.column, key: key)
    }

    /// Where the key itself stands, when it does.
    func keyOrigin(of key: ConfigKey) -> Origin? { fields[key]?.key }

    /// The value of `key` and its place; nil when the key is not written.
    func value(of key: ConfigKey) -> Located<YAMLNode>? {
        fields[key].map { Located(value: $0.value, origin: place(of: $0.value, under: $0.key.key)) }
    }

    /// The section behind `key`; nil when it is not written or, having said why, not a mapping.
    func reader(for key: ConfigKey) -> SectionReader? {
        guard case .section(let section) = key.type, let field = fields[key] else { return nil }
        return SectionReader(field.value, as: section, at: field.key, findings: findings)
    }

    /// The items of the list behind `key`; nil when it is not written or, having said why, not a
    /// list.
    func items(of key: ConfigKey) -> [Located<YAMLNode>]? {
        guard let field = fields[key] else { return nil }
        guard let sequence = field.value.items else {
            let what = field.value.isNull ? "is empty" : "is not a list"
            findings.error(at: field.key, what, key.type.remedy)
            return nil
        }
        return sequence.enumerated().map { index, node in
            Located(value: node, origin: place(of: node, under: "\(field.key.key)[\(index)]"))
        }
    }

    /// The sections in the list behind `key`, given its items; having said why, what is not a
    /// mapping is left out.
    func readers(for key: ConfigKey, _ items: [Located<YAMLNode>]) -> [SectionReader] {
        guard case .list(let section) = key.type else { return [] }
        return items.compactMap { item in
            SectionReader(item.value, as: section, at: item.origin, findings: findings)
        }
    }
}
