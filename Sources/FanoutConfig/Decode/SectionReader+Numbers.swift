// SPDX-License-Identifier: Apache-2.0

extension SectionReader {
    /// A whole number in plain decimal digits, within the range of the catalog; with a unit behind it where the key
    /// has units.
    ///
    /// `012`, `1:30`, `0x10`, `1e3` and `1_000` mean different numbers to different readers of
    /// YAML, so none of them is read.
    func integer(_ key: ConfigKey) -> Located<Int>? {
        guard let field = scalar(key), let range = key.type.range else { return nil }
        let text = field.value.text
        if let number = Self.number(text, units: key.type.units) {
            if range.contains(number) { return Located(value: number, origin: field.origin) }
            refuse(field.origin, "\(text) is out of range", key)
        } else if let number = Self.plainDecimal(text) {
            if field.value.isQuoted {
                findings.error(
                    at: field.origin, "\(text) stands in quotes",
                    range.contains(number) ? "write \(text) without quotes" : key.type.remedy)
            } else if range.contains(number) {
                return Located(value: number, origin: field.origin)
            } else {
                refuse(field.origin, "\(text) is out of range", key)
            }
        } else if text.utf8.allSatisfy({ (48...57).contains($0) }), text.utf8.first != 48 {
            refuse(field.origin, "\(text.printable()) is out of range", key)
        } else {
            let meant = Self.meant(by: text).flatMap { range.contains($0) ? $0 : nil }
            findings.error(
                at: field.origin, "\(text.quoted) is not a number in plain decimal digits",
                meant.map { "write \($0)" } ?? key.type.remedy)
        }
        return nil
    }

    /// Plain decimal digits with one of the units behind them; nil when there is no unit. What exceeds an `Int` is
    /// `Int.max`.
    static func number(_ text: String, units: [(name: String, factor: Int)]) -> Int? {
        for unit in units where text.hasSuffix(unit.name) {
            guard let count = plainDecimal(String(text.dropLast(unit.name.count))) else { continue }
            let (product, overflows) = count.multipliedReportingOverflow(by: unit.factor)
            return overflows ? .max : product
        }
        return nil
    }

    /// Digits without sign, leading zero or anything between; nil too when they exceed an `Int`.
    static func plainDecimal(_ text: String) -> Int? {
        guard text.utf8.allSatisfy({ (48...57).contains($0) }),
            text == "0" || text.utf8.first != UInt8(ascii: "0")
        else { return nil }
        return Int(text)
    }

    /// The number that somebody who writes `text` most likely has in mind.
    static func meant(by text: String) -> Int? {
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
