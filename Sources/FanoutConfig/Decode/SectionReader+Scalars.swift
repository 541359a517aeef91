// SPDX-License-Identifier: Apache-2.0

internal import YAML

/// A single value as it is written.
struct ScalarText {
    let text: String
    let style: YAMLNode.Style

    var isQuoted: Bool { style != .plain }
}

extension SectionReader {
    /// The single value behind `key`; nil when it is not written or, having said why, empty or a
    /// list or a mapping.
    func scalar(_ key: ConfigKey) -> Located<ScalarText>? {
        guard let field = value(of: key) else { return nil }
        guard case .scalar(let text, let style) = field.value.content else {
            refuse(field.origin, "is not a single value", key)
            return nil
        }
        guard !field.value.isNull, !text.isEmpty else {
            refuse(field.origin, "is empty", key)
            return nil
        }
        return Located(value: ScalarText(text: text, style: style), origin: field.origin)
    }

    func refuse(_ origin: Origin, _ what: String, _ key: ConfigKey) {
        findings.error(at: origin, what, key.type.remedy)
    }

    /// A text without control characters, 1...128 bytes.
    func name(_ key: ConfigKey) -> Located<String>? {
        guard let field = scalar(key) else { return nil }
        let text = field.value.text
        if let scalar = text.unicodeScalars.first(where: \.isControl) {
            findings.error(
                at: field.origin, "\(text.quoted) holds the control character \(scalar.codePoint)",
                "write the name without it")
            return nil
        }
        guard text.utf8.count <= Self.longestName else {
            findings.error(
                at: field.origin, "is \(text.utf8.count) bytes long",
                "write a name of at most \(Self.longestName) bytes")
            return nil
        }
        return Located(value: text, origin: field.origin)
    }

    private static var longestName: Int { 128 }

    /// A text of any characters, 1...512 bytes.
    func text(_ key: ConfigKey) -> Located<String>? {
        guard let field = scalar(key) else { return nil }
        let text = field.value.text
        guard text.utf8.count <= 512 else {
            refuse(field.origin, "is \(text.utf8.count) bytes long", key)
            return nil
        }
        return Located(value: text, origin: field.origin)
    }

    /// The payload of a probe, as it is written.
    func payload(_ key: ConfigKey) -> Located<String>? {
        guard let field = scalar(key) else { return nil }
        let text = field.value.text
        do throws(PayloadText.Fault) {
            _ = try PayloadText.bytes(of: text)
        } catch {
            findings.error(at: field.origin, error.what, error.remedy)
            return nil
        }
        // YAML's own escapes name characters.
        if field.value.style == .doubleQuoted,
            text.unicodeScalars.contains(where: { (0x80...0xff).contains($0.value) })
        {
            findings.warning(
                at: field.origin,
                #"in double quotes \x80 to \xff are characters, which are two bytes each"#,
                "write it in single quotes, or as hex:")
        }
        return Located(value: text, origin: field.origin)
    }

    /// `true` or `false`; the other words of YAML 1.1 are refused, for YAML 1.2 reads them as text.
    func boolean(_ key: ConfigKey) -> Located<Bool>? {
        guard let field = scalar(key) else { return nil }
        switch (field.value.text, field.value.isQuoted) {
        case ("true", false): return Located(value: true, origin: field.origin)
        case ("false", false): return Located(value: false, origin: field.origin)
        case (let text, let isQuoted):
            let remedy =
                switch text.lowercased() {
                case "true", "yes", "on", "y", "1": "write true"
                case "false", "no", "off", "n", "0": "write false"
                default: key.type.remedy
                }
            let isWord = isQuoted && (text == "true" || text == "false")
            findings.error(
                at: field.origin,
                isWord ? "\(text) stands in quotes" : "\(text.quoted) is not a boolean",
                isWord ? "write \(text) without quotes" : remedy)
            return nil
        }
    }

    /// A list of words of an enumeration.
    func choices<Word: RawRepresentable<String> & CaseIterable>(
        _ key: ConfigKey, of type: Word.Type
    ) -> [Word]? {
        items(of: key)?.compactMap { item in
            let text = item.value.text
            if let word = text.flatMap({ type.init(rawValue: $0) }) { return word }
            refuse(item.origin, "\(text?.quoted ?? "this") is none of them", key)
            return nil
        }
    }

    /// One of the words of an enumeration, or one of `spellings`.
    func choice<Word: RawRepresentable<String>>(
        _ key: ConfigKey, of type: Word.Type, spellings: [String: Word] = [:]
    ) -> Located<Word>? {
        guard let field = scalar(key), case .choice(let words) = key.type else { return nil }
        let text = field.value.text
        if let word = type.init(rawValue: text) ?? spellings[text] {
            return Located(value: word, origin: field.origin)
        }
        var remedy = key.type.remedy
        if let near = Spelling.nearest(to: text, among: words) {
            let others = words.filter { $0 != near }
            remedy = "write \(near) (or \(others.alternatives))"
        }
        findings.error(at: field.origin, "\(text.quoted) is not a \(key.name)", remedy)
        return nil
    }
}
