// SPDX-License-Identifier: Apache-2.0

internal import YAML

/// The type of a key's value: its rule, its parser and its spelling.
struct ValueType<Value>: Sendable {
    let rule: ValueRule
    /// Returns nil after reporting why the value is invalid. `current` is the default.
    let read: @Sendable (_ field: Field, _ current: Value?) -> Value?
    /// The value as YAML; nil if it is left out.
    let yaml: @Sendable (Value) -> String?

    /// A single value that is not empty.
    static func single(
        _ rule: ValueRule, yaml: @escaping @Sendable (Value) -> String?,
        read: @escaping @Sendable (Field) -> Value?
    ) -> Self {
        Self(rule: rule, read: { field, _ in field.isSingle ? read(field) : nil }, yaml: yaml)
    }
}

extension ValueType<Bool> {
    /// `true` or `false`. Other words of YAML 1.1 are refused, because YAML 1.2 reads them as text.
    static var boolean: Self {
        single(ValueRule("write true or false", ["type": "boolean"]), yaml: { "\($0)" }) { field in
            let text = field.text
            if text == "true" || text == "false" {
                guard field.isQuoted else { return text == "true" }
                return field.refuse("\(text) is quoted", "write \(text) without quotes")
            }
            let remedy: String? =
                switch text.lowercased() {
                case "true", "yes", "on", "y", "1": "write true"
                case "false", "no", "off", "n", "0": "write false"
                default: nil
                }
            return field.refuse("\(text.quoted) is not a boolean", remedy)
        }
    }
}

extension ValueType where Value: RawRepresentable<String> & CaseIterable & Sendable {
    /// A word of an enumeration, or of `spellings`.
    static func choice(spellings: KeyValuePairs<String, Value> = [:]) -> Self {
        let words = Value.allCases.map(\.rawValue)
        let rule = ValueRule(
            "write " + words.alternatives,
            cell: words.map { "`\($0)`" }.joined(separator: ", "),
            ["enum": .words(words + spellings.map(\.key))])
        return single(rule, yaml: { $0.rawValue }) { field in
            let text = field.text
            if let value = Value(rawValue: text)
                ?? spellings.first(where: { $0.key == text })?.value
            {
                return value
            }
            let remedy = Spelling.nearest(to: text, among: words).map { near in
                "write \(near) (or \(words.filter { $0 != near }.alternatives))"
            }
            return field.refuse("\(text.quoted) is not a \(field.name)", remedy)
        }
    }
}

extension ValueType {
    /// A list; left out of YAML if it is empty.
    ///
    /// - Parameter read: parses an item; returns nil after reporting that it is invalid.
    static func list<Item>(
        _ remedy: String, of schema: JSONText, yaml: @escaping @Sendable (Item) -> String,
        read: @escaping @Sendable (Field) -> Item?
    ) -> Self where Value == [Item] {
        Self(rule: ValueRule(remedy, ["type": "array", "items": schema])) { field, _ in
            field.items?.compactMap(read)
        } yaml: {
            $0.isEmpty ? nil : "[\($0.map(yaml).joined(separator: ", "))]"
        }
    }

    /// A list of words of an enumeration.
    static func choices<Word: RawRepresentable<String> & CaseIterable & Sendable>() -> Self
    where Value == [Word] {
        let words = Word.allCases.map(\.rawValue)
        return list(
            "write a list of " + words.alternatives, of: ["enum": .words(words)],
            yaml: { $0.rawValue }
        ) { item in
            item.node.text.flatMap(Word.init(rawValue:))
                ?? item.refuse("\(item.node.text?.quoted ?? "this") is none of them")
        }
    }
}

extension [String] {
    /// `a, b or c`.
    var alternatives: String {
        count < 2 ? first ?? "" : dropLast().joined(separator: ", ") + " or " + self[count - 1]
    }
}

extension ValueType where Value: FixedWidthInteger & Sendable {
    /// A whole number in plain decimal digits.
    static func integer(_ range: ClosedRange<Int>) -> Self { Self(.integer(range)) }

    /// A number of seconds: plain, or with the suffix `s`, `m` or `h`.
    static func seconds(_ range: ClosedRange<Int>) -> Self { Self(.seconds(range)) }

    /// A number of bytes: plain, or with the suffix `KiB`, `MiB` or `GiB` (or `K`, `M`, `G`).
    static func bytes(_ range: ClosedRange<Int>) -> Self { Self(.bytes(range)) }

    private init(_ format: NumberFormat) {
        self = .single(format.rule, yaml: { "\($0)" }) { format.number(in: $0).map { Value($0) } }
    }
}

extension ValueType<Duration> {
    static func seconds(_ range: ClosedRange<Int>) -> Self {
        let format = NumberFormat.seconds(range)
        return single(format.rule, yaml: { "\($0.components.seconds)" }) {
            format.number(in: $0).map { .seconds($0) }
        }
    }
}

/// Whole numbers of a range, and the units that may follow them.
struct NumberFormat: Sendable {
    let range: ClosedRange<Int>
    /// The factor of each unit.
    var units: [(name: String, factor: Int)] = []
    let rule: ValueRule

    static func integer(_ range: ClosedRange<Int>) -> NumberFormat {
        NumberFormat(
            range: range,
            rule: ValueRule("write a whole number from \(range.words)", .integers(in: range)))
    }

    static func seconds(_ range: ClosedRange<Int>) -> NumberFormat {
        let units = [("s", 1), ("m", 60), ("h", 3600)]
        return with(units, range, "write seconds from \(range.words), such as 30, 30s or 2m")
    }

    static func bytes(_ range: ClosedRange<Int>) -> NumberFormat {
        let units = [
            ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("K", 1 << 10), ("M", 1 << 20),
            ("G", 1 << 30),
        ]
        return with(units, range, "write bytes from \(range.words), such as 9000 or 16KiB")
    }

    private static func with(
        _ units: [(name: String, factor: Int)], _ range: ClosedRange<Int>, _ remedy: String
    ) -> NumberFormat {
        let names = units.map(\.name).joined(separator: "|")
        let withUnit = JSONText.string(matching: "^(0|[1-9][0-9]*)(\(names))$")
        return NumberFormat(
            range: range, units: units,
            rule: ValueRule(remedy, ["anyOf": [.integers(in: range), withUnit]]))
    }

    /// YAML readers disagree on the values of `012`, `1:30`, `0x10`, `1e3` and `1_000`, so all of them are refused.
    func number(in field: Field) -> Int? {
        let text = field.text
        if let number = count(text) {
            return range.contains(number) ? number : field.refuse("\(text) is out of range")
        }
        if let number = Self.plainDecimal(text) {
            if field.isQuoted {
                return field.refuse(
                    "\(text) is quoted",
                    range.contains(number) ? "write \(text) without quotes" : nil)
            }
            return range.contains(number) ? number : field.refuse("\(text) is out of range")
        }
        if text.utf8.allSatisfy(\.isDigit), text.utf8.first != UInt8(ascii: "0") {
            return field.refuse("\(text.printable()) is out of range")
        }
        let meant = Self.likely(text).flatMap { range.contains($0) ? $0 : nil }
        return field.refuse(
            "\(text.quoted) is not a number in plain decimal digits", meant.map { "write \($0)" })
    }

    /// Plain decimal digits with a unit; nil without a unit. Saturates at `Int.max`.
    private func count(_ text: String) -> Int? {
        for unit in units where text.hasSuffix(unit.name) {
            guard let count = Self.plainDecimal(String(text.dropLast(unit.name.count))) else {
                continue
            }
            let (product, overflows) = count.multipliedReportingOverflow(by: unit.factor)
            return overflows ? .max : product
        }
        return nil
    }

    /// Digits without sign, leading zero or separators; nil also on overflow.
    static func plainDecimal(_ text: String) -> Int? {
        guard text.utf8.allSatisfy(\.isDigit), text == "0" || text.utf8.first != UInt8(ascii: "0")
        else { return nil }
        return Int(text)
    }

    /// The number that `text` most likely means.
    static func likely(_ text: String) -> Int? {
        let bare = text.replacing("_", with: "").replacing("+", with: "").lowercased()
        if bare.hasPrefix("0x") { return Int(bare.dropFirst(2), radix: 16) }
        if bare.hasPrefix("0o") { return Int(bare.dropFirst(2), radix: 8) }
        if bare.hasPrefix("0b") { return Int(bare.dropFirst(2), radix: 2) }
        let parts = bare.split(separator: ":", omittingEmptySubsequences: false)
        if parts.count == 2, let minutes = Int(parts[0]), let seconds = Int(parts[1]),
            (0..<60).contains(seconds), (0..<100_000).contains(minutes)
        {
            return minutes * 60 + seconds
        }
        if let number = Int(bare) { return number }
        guard bare.utf8.count <= 32, let number = Double(bare) else { return nil }
        return Int(exactly: number)
    }
}

extension ClosedRange<Int> {
    fileprivate var words: String { "\(lowerBound) to \(upperBound)" }
}

extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    var isLowercase: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
    var isUppercase: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
}
